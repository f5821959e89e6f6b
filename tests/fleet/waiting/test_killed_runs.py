"""Workers die again and again under a run of a thousand nodes: no node is done twice, and none is forgotten."""

from functools import partial
from typing import Any

import psycopg

from domain.payloads.workflows import RunPayload
from domain.workflows.faults import check
from storage.workflows import definitions, waits
from tests.fleet.fleet import QUIET_OPTIONS, Fleet
from tests.invariants import find_gaps
from tests.waiting import eventually
from tests.workflows import workflow_jobs

LEAVES, JOINS, ITEMS, KILLS = 900, 90, 200, 4
OPTIONS = (*QUIET_OPTIONS, "--include", workflow_jobs.__name__)


def thousand_nodes() -> dict[str, Any]:
    """Leaves, joins of ten leaves, a join of all, a person, and a list."""

    def job(*needs: str, **keys: object) -> dict[str, Any]:
        return {"job": "workflow_jobs.echo", "needs": list(needs), **keys}

    leaves = {f"n{n}": job("start", **{"with": {"value": n}}) for n in range(LEAVES)}
    size = LEAVES // JOINS
    joins = {f"j{n}": job(*(f"n{leaf}" for leaf in range(n * size, (n + 1) * size))) for n in range(JOINS)}
    return {
        "name": "thousand",
        "nodes": {
            "start": job(),
            **leaves,
            **joins,
            "top": job(*joins),
            "ask": {"wait": {"approval": "Go on?"}, "needs": ["top"]},
            "list": job("ask", for_each=list(range(ITEMS)), limit=20, **{"with": {"value": "${item}"}}),
            "end": job("list", **{"with": {"value": "${length(nodes.list.outputs)}"}}),
        },
        "output": "${nodes.end.output.value}",
    }


def begin(fleet: Fleet) -> None:
    with fleet.client.database.ledger() as tx:
        document = check(thousand_nodes(), lambda _name: None).document
        definitions.save(tx, fleet.org, document, b"x" * 32, by="ada")
    fleet.enqueue(RunPayload(workflow="thousand"))


def succeeded(fleet: Fleet) -> int:
    """Nodes and items that have."""
    return int(fleet.ask("select count(*) from workflow_nodes where state = 'succeeded'")[0][0])


def has_more(fleet: Fleet, than: int) -> bool:
    """Whether some have succeeded since."""
    return succeeded(fleet) > than + 5


def kill_some(fleet: Fleet, name: str) -> None:
    """Each worker dies as soon as something more has been done."""
    for kill in range(KILLS):
        worker, before = fleet.worker(f"{name}{kill}", options=OPTIONS), succeeded(fleet)
        worker.ready()
        more = partial(has_more, fleet, before)
        eventually(more, within=60, describe="some nodes to be done")
        worker.kill_all()


def test_a_run_of_a_thousand_nodes_outlives_its_workers(fleet: Fleet) -> None:
    begin(fleet)
    kill_some(fleet, "first")
    heir = fleet.worker("heir", options=OPTIONS, concurrency=4)
    heir.ready()
    asked = "select approval_id from workflow_nodes where node = 'ask' and state = 'waiting'"
    eventually(lambda: fleet.ask(asked) != [], within=240, describe="a person to be asked")
    heir.kill_all()
    with fleet.client.database.ledger() as tx:
        assert waits.decide(tx, fleet.ask(asked)[0][0], approve=True, by="ada", reason=None)
    kill_some(fleet, "second")
    fleet.worker("last", options=OPTIONS, concurrency=4).ready()
    state = "select state, output from workflow_runs"
    eventually(lambda: fleet.ask(state)[0][0] != "running", within=240, describe="the run to end")
    assert fleet.ask(state) == [("succeeded", ITEMS)]
    done = fleet.ask(
        "select count(*), count(*) filter (where state = 'succeeded') from jobs where job_type like %s", "w%.echo"
    )
    assert done == [(1 + LEAVES + JOINS + 1 + ITEMS + 1,) * 2]
    assert fleet.ask("select count(*) from job_waiters") == [(0,)]
    with psycopg.connect(fleet.database_url, autocommit=True) as owner:
        assert find_gaps(owner, resting=False) == []

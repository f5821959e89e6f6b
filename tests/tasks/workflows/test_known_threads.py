"""What went wrong in other engines, played through the ledger and an inline worker (tests/workflows/known)."""

from datetime import timedelta
from uuid import UUID

import pytest

from tests.workflows.known_threads import Round, names, thread
from tests.workflows.workflow_jobs import BROKEN
from tests.workflows.workflow_runs import Workflows

SHORTER = {"conductor-18": 60}
"""Lists that the rules alone go through in full."""


def play(flows: Workflows, run_id: UUID, what: Round) -> None:
    """What happens in a round, after it has begun."""
    BROKEN.clear()
    BROKEN.update(what.broken)
    for name, payload in what.events:
        flows.send(run_id, name, payload)
    flows.drain()
    times_out = False
    for node, how in what.waits.items():
        if how == "timeout":
            times_out = True
        else:
            assert flows.decide(run_id, node, approve=how == "approved")
            flows.drain()
    if times_out:
        flows.pass_time(timedelta(days=3))
        flows.drain()


def stands(flows: Workflows, run_id: UUID) -> dict[str, str]:
    """The state of each node, or why it was skipped."""
    rows = flows.database.execute(
        "select node, coalesce(skipped_because, state) from workflow_nodes where run_id = %s and item = -1", (run_id,)
    ).fetchall()
    return dict(rows)


@pytest.mark.parametrize("name", [name for name in names() if not thread(name).faults])
def test_a_known_thread_comes_out_right(flows: Workflows, name: str) -> None:
    told = thread(name)
    for document in (*told.others, told.workflow):
        flows.save(document)
    given = told.input
    if name in SHORTER:
        given = {**given, "list": given["list"][: SHORTER[name]]}
    run_id = flows.start(name, given)
    for number, what in enumerate(told.rounds):
        if number:
            flows.resume(run_id, None if what.newer is None else flows.save(what.newer))
        play(flows, run_id, what)
        run = flows.run(run_id)
        assert run.state == what.state
        assert what.code is None or (run.failure and run.failure["code"]) == what.code
        assert stands(flows, run_id) == what.nodes
        if what.output is not None and name not in SHORTER:
            assert run.output == what.output

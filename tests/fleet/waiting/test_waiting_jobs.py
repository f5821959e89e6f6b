"""Real workers beside jobs that wait for a gate or for their key: these hold no slot and are left alone."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg

from storage.jobs import gates
from storage.jobs.gates import Gate
from tests.doubles.factories import make_org
from tests.doubles.probe_jobs import Noop, Pair, Served
from tests.fleet.fleet import END_WITHIN_S, Fleet, wait_until_ready
from tests.waiting import eventually


def most_at_once(fleet: Fleet) -> Counter[str]:
    """How many jobs of each account were inside together at most, by the external system's journal."""
    inside: Counter[str] = Counter()
    most: Counter[str] = Counter()
    for line in fleet.outside.lines():
        if line[0] in {"enters", "leaves"}:
            inside[line[1]] += 1 if line[0] == "enters" else -1
            most[line[1]] = max(most[line[1]], inside[line[1]])
    return most


def wait_until_parked(fleet: Fleet, name: str, jobs: int) -> None:
    query = "select count(*) from jobs where parked_by = %s"
    eventually(lambda: fleet.ask(query, name) == [(jobs,)], within=END_WITHIN_S, describe=f"{jobs} jobs behind {name}")


def versions(fleet: Fleet) -> list[tuple[object, ...]]:
    """The row versions of parked jobs, which every update changes."""
    return fleet.ask("select id, xmin::text, ctid::text from jobs where parked_by is not null order by id")


def see_a_few_rounds(fleet: Fleet) -> None:
    """Run a scheduled job of another tenant; until then the relay has made several turns."""
    with psycopg.connect(fleet.database_url, autocommit=True) as owner:
        other = make_org(owner, "another org")
    due = datetime.now(UTC) + timedelta(seconds=2)
    assert fleet.wait_for_end(fleet.enqueue_many([Noop().job(org_id=other, run_at=due)])) == {"succeeded": 1}


def test_a_key_of_two_lets_two_run_and_leaves_the_other_slots_free(fleet: Fleet) -> None:
    wait_until_ready(*[fleet.worker(name, concurrency=2) for name in ("one", "two")])
    job_ids = fleet.enqueue_many([Pair(account_id="a", gate="open").job(org_id=fleet.org) for _ in range(10)])
    fleet.wait_for_line("waits", times=2)
    wait_until_parked(fleet, f"key:probe_jobs.pair:{fleet.org}:a", 8)
    before = versions(fleet)
    others = [Pair(account_id="b").job(org_id=fleet.org) for _ in range(6)]
    assert fleet.wait_for_end(fleet.enqueue_many([*others, Noop().job(org_id=fleet.org)])) == {"succeeded": 7}
    see_a_few_rounds(fleet)
    assert versions(fleet) == before
    assert fleet.ask("select sum(attempt) from jobs where state = 'queued'") == [(0,)]
    fleet.outside.open_gate("open")
    assert fleet.wait_for_end(job_ids) == {"succeeded": 10}
    assert most_at_once(fleet)["a"] == 2
    assert most_at_once(fleet)["b"] <= 2
    assert fleet.ask("select count(*) from serial_slots") == [(0,)]
    fleet.check()


def test_a_closed_gate_of_any_scope_keeps_a_job_and_no_slot(fleet: Fleet) -> None:
    fleet.worker(concurrency=1).ready()
    scopes = {
        "queue": "default",
        "job_type": "probe_jobs.served",
        "org": str(fleet.org),
        "account": "a1",
        "provider": "probe",
        "fleet": "*",
    }
    for scope, key in scopes.items():
        with fleet.client.database.ledger() as tx:
            gates.close(tx, Gate(scope, key, "a test", None, "an operator"))
        kept = fleet.enqueue(Served(account_id="a1"))
        wait_until_parked(fleet, f"gate:{scope}:{key}", 1)
        if scope in {"job_type", "account", "provider"}:
            assert fleet.wait_for_end([fleet.enqueue(Noop())]) == {"succeeded": 1}
        assert fleet.events(kept) == ["enqueued"]
        with fleet.client.database.ledger() as tx:
            assert gates.open_gate(tx, scope, key)
        assert fleet.wait_for_end([kept]) == {"succeeded": 1}
        assert fleet.events(kept) == ["enqueued", "started", "succeeded"]
    fleet.check()


def test_two_thousand_jobs_behind_one_gate_cost_nothing_until_it_opens(fleet: Fleet) -> None:
    fleet.worker(concurrency=4).ready()
    gate = Gate("org", str(fleet.org), "a test", None, "an operator")
    early: list[UUID] = fleet.enqueue_many([Noop().job(org_id=fleet.org) for _ in range(1000)])
    with fleet.client.database.ledger() as tx:
        gates.close(tx, gate)
    late = fleet.enqueue_many([Noop().job(org_id=fleet.org) for _ in range(1000)])
    query = "select count(*) from jobs where finished_at is null and parked_by is distinct from %s"
    name = f"gate:org:{fleet.org}"
    eventually(lambda: fleet.ask(query, name) == [(0,)], within=END_WITHIN_S, describe="all jobs to be parked or ended")
    before = versions(fleet)
    assert len(before) >= 1000
    see_a_few_rounds(fleet)
    assert versions(fleet) == before
    with fleet.client.database.ledger() as tx:
        gates.open_gate(tx, gate.scope, gate.key)
    assert fleet.wait_for_end([*early, *late], within=120) == {"succeeded": 2000}
    assert fleet.ask("select max(attempt) from jobs") == [(1,)]
    fleet.check()

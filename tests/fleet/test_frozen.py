"""A worker frozen past its lease and thawed has lost its claims: everything that it writes is refused (P4)."""

from tests.doubles.probe_jobs import Perilous, Visit
from tests.fleet.fleet import Fleet, refused_settlements
from tests.invariants import check_calls
from tests.waiting import eventually

WRITES = ("step", "progress", "transaction")
"""What a handler writes by itself; it hears of the refusal."""

OUTCOMES = ("writes", "child", "settle")
"""What is written after the handler has returned."""


WRITTEN = (
    "select id, output, progress, attempt from jobs order by id",
    "select job_id, name, result, at from job_steps order by job_id, name",
    "select id, event from audit_log where event not in ('effect.unrecorded', 'deadletter.raised') order by id",
    "select key, status, result_ref from idempotency_keys order by key",
)
"""Everything that the sleeper must not change."""


def test_a_thawed_workers_writes_are_refused(fleet: Fleet) -> None:
    sleeper = fleet.worker("sleeper", concurrency=7)
    sleeper.ready()
    jobs = {how: fleet.enqueue(Visit(gate="morning", then=how, account_id=how)) for how in (*WRITES, *OUTCOMES)}
    call = fleet.enqueue(Perilous(key="morning", end="wait"))
    fleet.wait_for_line("waits", times=6)
    fleet.wait_for_line("call morning")
    fleet.wait_for_starts([*jobs.values(), call])
    sleeper.freeze()
    fleet.worker("heir", concurrency=4).ready()
    assert fleet.wait_for_end([*jobs.values(), call]) == {"succeeded": 7}
    fleet.check()  # the second worker's child job has ended too, and the ledger is at rest
    logs = {job_id: fleet.events(job_id) for job_id in (*jobs.values(), call)}
    written = [fleet.ask(question) for question in WRITTEN]
    fleet.outside.open_gate("morning")
    sleeper.thaw()
    for how in WRITES:
        fleet.wait_for_line(f"refused {how}")
    # Each attempt is settled in the end, by a statement that matches nothing.
    eventually(lambda: refused_settlements(sleeper.logs()) == len(logs), within=20, describe="the refused settlements")
    eventually(lambda: '"event": "effect_unrecorded"' in sleeper.logs(), within=20, describe="the unrecorded effect")
    assert {job_id: fleet.events(job_id) for job_id in logs} == logs
    assert [fleet.ask(question) for question in WRITTEN] == written
    for events in logs.values():
        assert events == ["enqueued", "started", "retried", "started", "succeeded"]
    # Nobody knows which of them ended the sleeper, so the second attempts count as the first.
    assert fleet.ask("select attempt, result ->> 'attempt' from job_steps") == [(1, "1")]
    assert fleet.ask("select progress ->> 'attempt' from jobs where progress is not null") == [("1",)]
    assert fleet.ask("select attempt from audit_log where event = 'probe.wrote'") == [(1,), (1,)]
    assert fleet.ask("select count(*) from jobs where parent_id = %s", jobs["child"]) == [(1,)]
    assert fleet.ask("select job_id from audit_log where event = 'effect.unrecorded'") == [(call,)]
    check_calls([line[1] for line in fleet.outside.lines("call")])
    fleet.check()
    assert refused_settlements(sleeper.logs()) == len(logs)

"""Each check of a chaos run reports the damage that it is there for."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from tests.chaos.conftest import FinishedRun
from tests.chaos.recovery import AuditedEvent, Silence, Silences, find_orphans

START = datetime(2026, 1, 1, tzinfo=UTC)


def test_an_undamaged_run_has_no_problems(finished_run: FinishedRun) -> None:
    findings = finished_run.check()
    assert findings.problems == []
    assert findings.states == {"succeeded": 7, "failed": 1}
    assert findings.effects_per_key == {1: 2}
    assert findings.orphans == []


def test_an_accepted_job_that_is_not_there_is_lost(finished_run: FinishedRun) -> None:
    finished_run.accepted.add(uuid4())
    assert [line for line in finished_run.check().lost if "is not in the ledger" in line]


def test_a_job_that_has_not_ended_is_lost(finished_run: FinishedRun) -> None:
    finished_run.database.execute(
        f"{WITHOUT_TRIGGERS} update jobs set state = 'queued', finished_at = null, next_check_at = now()"
        " where job_type = 'chaos_jobs.turn'"
    )
    findings = finished_run.check()
    assert ["has not ended: queued" in line for line in findings.lost] == [True]
    assert ["it ends in succeeded" in line for line in findings.audit_gaps] == [True]


@pytest.mark.parametrize("key", ["effect:one", "effect:quick"])
def test_an_effect_performed_twice_is_reported(finished_run: FinishedRun, key: str) -> None:
    finished_run.outside.perform(key)
    findings = finished_run.check()
    assert findings.duplicate_effects == [f"{key} was done 2 times"]
    assert findings.effects_per_key == {1: 1, 2: 1}


def test_an_effect_that_was_never_performed_is_reported(finished_run: FinishedRun) -> None:
    (finished_run.outside.folder / "effects").write_text("")
    problems = finished_run.check().missing_effects
    seen = [("never done" in line, "was not" in line) for line in problems]
    assert sorted(seen) == [(False, True)] * 2 + [(True, False)] * 2


AUDIT = (
    "insert into audit_entries (event, org_id, actor_type, actor_id, request_id, correlation_id, job_id, attempt)"
    " select '{}', org_id, actor_type, actor_id, request_id, correlation_id, id, attempt"
    " from jobs where job_type = '{}'"
)
WITHOUT_TRIGGERS = "set session_replication_role = replica;"
"""For damage that the ledger itself refuses."""
ONE_CHILD = "select max(id::text)::uuid from jobs where job_type = 'chaos_jobs.noop'"


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (
            "update idempotency_keys set status = 'running', result_ref = null where key = 'effect:one'",
            "effect:one: running",
        ),
        (
            f"{WITHOUT_TRIGGERS} update jobs set state = 'failed', error = '{{}}' where job_type = 'chaos_jobs.turn'",
            "ended failed",
        ),
        ("update jobs set attempt = attempt + 1 where job_type = 'chaos_jobs.turn'", "it ends in succeeded, attempt 1"),
        (f"delete from jobs where id = ({ONE_CHILD})", "has 1 children"),
        (AUDIT.format("chaos.wrote", "chaos_jobs.posting"), "wrote its row 2 times"),
        (AUDIT.format("job.started", "chaos_jobs.turn"), "job.started cannot follow succeeded"),
    ],
)
def test_a_damaged_ledger_is_reported(finished_run: FinishedRun, damage: str, words: str) -> None:
    finished_run.database.execute(damage.encode())
    assert [line for line in finished_run.check().problems if words in line]


def test_two_holders_of_one_concurrency_key_are_reported(finished_run: FinishedRun) -> None:
    for job_type in ("chaos_jobs.turn", "chaos_jobs.posting"):
        finished_run.database.execute(
            "update jobs set serial_key = 'key' where id = %s", (finished_run.by_type[job_type],)
        )
        finished_run.database.execute(
            "insert into audit_entries (event, org_id, actor_type, actor_id, request_id, correlation_id, job_id)"
            " select 'job.started', org_id, 'system', 'x', 'x', 'x', id from jobs where id = %s",
            (finished_run.by_type[job_type],),
        )
    assert [line for line in finished_run.check().other if "took key" in line]


def timeline(*events: tuple[float, str, str | None]) -> list[AuditedEvent]:
    job_id, worker = uuid4(), uuid4()
    return [
        AuditedEvent(
            job_id, f"job.{event}", 1, START + timedelta(seconds=at), worker if event == "started" else None, cause
        )
        for at, event, cause in events
    ]


def silent(at: float, *, pid: int = 7, until: float | None = None) -> Silence:
    end = None if until is None else START + timedelta(seconds=until)
    return Silence(START + timedelta(seconds=at), frozenset({pid}), end)


def waits(events: list[AuditedEvent], silences: Silences, *, begun_by: int | None = None) -> list[float]:
    pids = {event.worker: 7 for event in events if event.worker}
    begun = {(events[0].job_id, 1): [begun_by]} if begun_by else {}
    return [orphan.waited.total_seconds() for orphan in find_orphans([events], silences, pids, begun)]


def test_an_orphan_waits_from_the_death_of_its_process_to_its_rescue() -> None:
    events = timeline((0, "enqueued", None), (1, "started", None), (9, "retried", "lost"), (10, "succeeded", None))
    assert waits(events, [silent(3)]) == [6]
    assert waits(events, [silent(3, pid=8)]) == []
    assert waits(events, [silent(3, pid=8)], begun_by=8) == [6]
    assert waits(events, [silent(9.5)]) == []
    assert waits(events, [silent(5), silent(3)]) == [6]


def test_a_process_that_was_thawed_is_silent_no_more() -> None:
    events = timeline((0, "enqueued", None), (1, "started", None), (9, "retried", "lost"))
    assert waits(events, [silent(2, until=5), silent(6)]) == [3]
    assert waits(events, [silent(2, until=8), silent(6, pid=8)], begun_by=8) == [3]
    assert waits(events, [silent(2, until=10), silent(6)]) == [7]
    # It was thawed too late: its lease had ended, and the job was rescued.
    assert waits(events, [silent(2, until=8)]) == [7]


def test_an_attempt_that_settled_before_the_kill_is_no_orphan() -> None:
    events = timeline((0, "enqueued", None), (1, "started", None), (4, "retried", "failure"), (5, "started", None))
    assert waits(events, [silent(3)]) == []


def test_a_job_that_died_of_its_workers_was_an_orphan() -> None:
    events = timeline((0, "enqueued", None), (1, "started", None), (9, "deadlettered", "poison"))
    (orphan,) = find_orphans([events], [silent(2)], {event.worker: 7 for event in events if event.worker}, {})
    assert orphan.waited == timedelta(seconds=7)
    assert orphan.as_lines() == [
        "-2.00 s job.enqueued attempt 1",
        f"-1.00 s job.started attempt 1 by {events[1].worker}",
        "+7.00 s job.deadlettered attempt 1 (poison)",
    ]

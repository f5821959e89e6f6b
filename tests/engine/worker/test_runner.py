"""Running one job: what the handler returns or raises is what the ledger shows."""

import time
from typing import Any
from uuid import UUID

import pytest
from celery import signals
from psycopg import Connection

from domain.jobs.failures import Invalid
from domain.jobs.job import NewJob
from engine.catalogue import Job, catalogue
from engine.enqueue import enqueue, enqueue_jobs
from engine.runtime import Runtime
from engine.worker.lease import renew
from engine.worker.runner import check_output
from tests.doubles import probe_jobs
from tests.doubles.factories import claim_demanded, enqueue_one, pass_time
from tests.doubles.inline_worker import Station, run_job


def run(process: Runtime, org: UUID, job_type: Job[Any], **payload: object) -> tuple[UUID, str]:
    job_id = enqueue_one(process.database, org, job_type.name, payload=payload)
    return job_id, run_job(process, job_type, job_id)


def run_misfit(process: Runtime, org: UUID, job_type: Job[Any], **payload: object) -> tuple[UUID, str]:
    """Run a job whose payload somebody wrote as checked, and which this release cannot read."""
    job_id = enqueue_one(process.database, org, job_type.name, payload=payload, is_checked=True)
    return job_id, run_job(process, job_type, job_id)


def again(process: Runtime, job_id: UUID) -> str:
    """Run a job again that was put back for a retry."""
    with process.database.ledger() as tx:
        job_type = tx.raw("select job_type from jobs where id = %(id)s", {"id": job_id})[0][0]
    found = catalogue.find(job_type)
    assert found is not None
    return run_job(process, found, job_id)


def row(database: Connection, job_id: UUID) -> dict[str, object]:
    cursor = database.execute(
        "select state, attempt, output, error, cancel_reason, cost_microcents from jobs where id = %s", (job_id,)
    )
    values = cursor.fetchone()
    assert values is not None
    assert cursor.description is not None
    return dict(zip([c.name for c in cursor.description], values, strict=True))


def test_ac_15_runner_poll_and_dispatch(process: Runtime, database: Connection, org: UUID) -> None:
    """Each job is run by the handler of its own type, and settled with what that says (docs: seeds.md#003-40)."""
    done, permanent = run(process, org, probe_jobs.noop), run(process, org, probe_jobs.ending, word="permanent")
    assert (done[1], row(database, done[0])["output"]) == ("succeeded", {"done": True})
    assert (permanent[1], row(database, permanent[0])["output"]) == ("failed", None)


def test_a_hint_for_a_finished_job_changes_nothing(process: Runtime, org: UUID) -> None:
    job_id, _ = run(process, org, probe_jobs.noop)
    assert again(process, job_id) == "not_claimed"


@pytest.mark.parametrize(
    ("word", "end", "attempt"),
    [("snooze", "queued", 0), ("cancel", "canceled", 1), ("transient", "queued", 1), ("permanent", "failed", 1)],
)
def test_ac_27_each_outcome_ends_as_the_table_says(
    process: Runtime, database: Connection, org: UUID, word: str, end: str, attempt: int
) -> None:
    job_id, state = run(process, org, probe_jobs.ending, word=word)
    assert state == end
    assert (row(database, job_id)["state"], row(database, job_id)["attempt"]) == (end, attempt)


def test_ac_31_a_bug_is_retried_and_then_dead_with_its_diagnostics_and_without_secrets(
    process: Runtime, database: Connection, org: UUID
) -> None:
    job_id, first = run(process, org, probe_jobs.ending, word="bug")
    assert [first, again(process, job_id), again(process, job_id)] == ["queued", "queued", "dead"]
    letter = database.execute("select error, history from dead_letters where job_id = %s", (job_id,)).fetchone()
    assert letter is not None
    assert letter[0]["code"] == "bug"
    assert "ZeroDivisionError" in letter[0]["reason"]
    assert "abcdefghijklmnop" not in str(letter)
    assert len([event for event in letter[1] if event["event"] == "job.retried"]) == 2
    assert database.execute("select count(*) from jobs where job_type = 'deadletter.quarantine'").fetchone() == (1,)


def test_a_payload_that_does_not_fit_is_a_dead_letter_that_names_the_field(
    process: Runtime, database: Connection, org: UUID
) -> None:
    job_id, end = run_misfit(process, org, probe_jobs.ending, word=["not", "a", "word"])
    assert end == "dead"
    error = row(database, job_id)["error"]
    assert isinstance(error, dict)
    assert error["reason"].startswith("payload.word: ")


def test_a_step_is_not_done_twice(process: Runtime, database: Connection, org: UUID) -> None:
    job_id, end = run(process, org, probe_jobs.chatty, word="x")
    assert (end, again(process, job_id)) == ("queued", "succeeded")
    assert row(database, job_id)["output"] == {"attempt": 1, "word": "x"}


def test_children_come_with_the_settlement_and_inherit(process: Runtime, database: Connection, org: UUID) -> None:
    job_id, _ = run(process, org, probe_jobs.parent)
    child = database.execute(
        "select org_id, correlation_id, state from jobs where parent_id = %s", (job_id,)
    ).fetchone()
    assert child is not None
    mother = database.execute("select correlation_id from jobs where id = %s", (job_id,)).fetchone()
    assert mother is not None
    assert (child[0], child[1], child[2]) == (org, mother[0], "queued")


def test_writes_children_and_settlement_commit_together(process: Runtime, database: Connection, org: UUID) -> None:
    job_id, end = run(process, org, probe_jobs.writing)
    assert (end, row(database, job_id)["output"]) == ("succeeded", {"done": True, "added": True})
    assert written(database, job_id) == (1, ["queued"])


@pytest.mark.parametrize(
    ("word", "end", "reason"),
    [
        ("transient", "queued", "a passing trouble"),
        ("bug", "queued", "ZeroDivisionError"),
        ("unknown child", "dead", "job_type: nobody.knows"),
        ("unkept", "dead", "output: carries a NUL"),
        ("added unkept", "dead", "output: carries a NUL"),
    ],
)
def test_when_one_of_them_cannot_be_written_none_is(
    process: Runtime, database: Connection, org: UUID, word: str, end: str, reason: str
) -> None:
    job_id, state = run(process, org, probe_jobs.writing, word=word)
    assert state == end
    assert written(database, job_id) == (0, [])
    error = row(database, job_id)["error"]
    assert isinstance(error, dict)
    assert error["reason"].startswith(reason)
    assert "abcdefghijklmnop" not in error["reason"]


SIX_LETTERS = r"a\u0000b \ud800 \\u0000"
"""The spelling of a NUL, as anybody may write it in a mail."""


def test_the_six_letters_that_spell_a_nul_are_no_nul() -> None:
    check_output({"text": SIX_LETTERS, SIX_LETTERS: [{"deep": SIX_LETTERS}], "umlaut": "ü"})


@pytest.mark.parametrize(
    "output",
    [{"text": "a\x00b"}, {"a\x00b": 1}, {"deep": [{"x": ["\x00"]}]}, {"text": SIX_LETTERS + "\x00"}, {"x": "\ud800"}],
)
def test_what_the_database_cannot_store_is_no_output(output: dict[str, Any]) -> None:
    with pytest.raises(Invalid, match="carries a NUL"):
        check_output(output)


def written(database: Connection, job_id: UUID) -> tuple[int, list[str]]:
    """How many rows the job `writing` wrote, and the states of its children."""
    rows = database.execute("select from audit_log where event = 'probe.wrote' and job_id = %s", (job_id,)).rowcount
    children = database.execute(
        "select state from jobs where parent_id = %s and job_type <> 'deadletter.quarantine'", (job_id,)
    )
    return rows, [state for (state,) in children]


def test_the_quarantine_job_raises_the_alert(process: Runtime, database: Connection, org: UUID) -> None:
    job_id, _ = run_misfit(process, org, probe_jobs.ending, word=3)
    alert = database.execute("select id from jobs where parent_id = %s", (job_id,)).fetchone()
    assert alert is not None
    assert again(process, alert[0]) == "succeeded"
    event = database.execute("select data from audit_log where event = 'deadletter.raised'").fetchone()
    assert event is not None
    assert "mended payload" in event[0]["plan"]


def test_an_effect_that_went_well_is_not_repeated(process: Runtime, org: UUID) -> None:
    before = len(probe_jobs.CALLS)
    key = f"call:{org}"
    for _ in range(2):
        _, end = run(process, org, probe_jobs.effectful, key=key, goes=["ok"])
        assert end == "succeeded"
    assert len(probe_jobs.CALLS) == before + 1


@pytest.mark.parametrize(
    ("goes", "found", "strategy", "ends", "calls"),
    [
        (["refused", "ok"], "no", "find", ["queued", "succeeded"], 1),
        (["doubt", "ok"], "yes", "find", ["queued", "succeeded"], 1),
        (["doubt", "ok"], "no", "find", ["queued", "succeeded"], 2),
        (["doubt", "ok"], "unclear", "find", ["queued", "dead"], 1),
        (["doubt", "ok"], "no", "idempotent", ["queued", "succeeded"], 2),
        (["doubt", "ok"], "no", "native_key", ["queued", "succeeded"], 2),
        (["doubt"], "no", "at_most_once", ["dead"], 1),
    ],
)
def test_doubt_is_resolved_as_the_strategy_says(
    process: Runtime,
    database: Connection,
    org: UUID,
    goes: list[str],
    found: str,
    strategy: str,
    ends: list[str],
    calls: int,
) -> None:
    before = len(probe_jobs.CALLS)
    order = {"key": f"call:{org}", "goes": goes, "found": found, "strategy": strategy}
    job_id, end = run(process, org, probe_jobs.effectful, **order)
    seen = [end]
    for _ in ends[1:]:
        pass_time(database, process.call_time)  # the first call is certainly over
        seen.append(again(process, job_id))
    assert seen == ends
    assert len(probe_jobs.CALLS) - before == calls
    status = database.execute("select status from idempotency_keys where kind = 'effect'").fetchone()
    assert status == (("succeeded" if ends[-1] == "succeeded" else "unknown"),)


def test_a_canceled_job_stops_at_its_next_step(process: Runtime, database: Connection, org: UUID) -> None:
    cancel = "update jobs set cancel_requested_at = now(), cancel_reason = 'enough' where id = %s"

    def cancel_it(task_id: str, **_: object) -> None:
        database.execute(cancel, (task_id,))

    signals.task_prerun.connect(cancel_it)
    try:
        job_id, end = run(process, org, probe_jobs.chatty, word="x")
    finally:
        signals.task_prerun.disconnect(cancel_it)
    assert (end, row(database, job_id)["cancel_reason"]) == ("canceled", "enough")


def test_a_stopping_process_gives_the_attempt_back(process: Runtime, database: Connection, org: UUID) -> None:
    def stop(**_: object) -> None:
        process.stopping.set()

    signals.task_prerun.connect(stop)
    try:
        job_id, end = run(process, org, probe_jobs.chatty, word="x")
    finally:
        signals.task_prerun.disconnect(stop)
    assert end == "returned"
    assert (row(database, job_id)["state"], row(database, job_id)["attempt"]) == ("queued", 0)


def test_a_job_that_a_stopping_process_has_claimed_does_not_begin(
    process: Runtime, database: Connection, org: UUID
) -> None:
    process.stopping.set()
    job_id, end = run(process, org, probe_jobs.chatty, word="x")
    assert end == "returned"
    assert (row(database, job_id)["state"], row(database, job_id)["attempt"]) == ("queued", 0)


@pytest.mark.parametrize("strategy", ["find", "at_most_once"])
def test_without_margin_no_effect_begins_and_the_job_goes_back(
    process: Runtime, database: Connection, org: UUID, strategy: str
) -> None:
    before = len(probe_jobs.CALLS)

    def lapse(station: Station) -> None:
        if station is Station.POOL:
            process.lease.renewed_at -= process.lease.length.total_seconds()

    payload = {"key": "k", "goes": ["ok"], "found": "unclear", "strategy": strategy}
    job_id = enqueue_one(process.database, org, probe_jobs.effectful.name, payload=payload)
    assert run_job(process, probe_jobs.effectful, job_id, lapse) == "returned"
    assert len(probe_jobs.CALLS) == before
    assert (row(database, job_id)["state"], row(database, job_id)["attempt"]) == ("queued", 0)
    # The ledger saw no lapse: without its return the job would be held until its deadline.
    renew(process)
    process.lease.renewed_at = time.monotonic()
    assert again(process, job_id) == "succeeded"
    assert len(probe_jobs.CALLS) == before + 1


def test_without_a_part_of_the_lease_left_nothing_is_claimed(process: Runtime, database: Connection, org: UUID) -> None:
    """The rescue of other workers would take such claims away, and the jobs would go round."""
    process.lease.renewed_at -= process.lease.length.total_seconds() * 0.8
    job_id, end = run(process, org, probe_jobs.noop)
    assert end == "not_claimed"
    assert (row(database, job_id)["state"], row(database, job_id)["attempt"]) == ("queued", 0)
    renew(process)
    assert again(process, job_id) == "succeeded"


def test_a_hint_is_published_only_after_the_commit(process: Runtime, org: UUID) -> None:
    sent: list[int] = []

    class Spy:
        def publish(self, hints: list[object]) -> bool:
            sent.append(len(hints))
            return True

        def close(self) -> None:
            """Nothing is open."""

    process.publisher = Spy()  # type: ignore[assignment] # a stand-in with the one method
    with process.database.ledger() as tx:
        enqueue(tx, probe_jobs.Noop(), org_id=org)
        assert sent == []
    assert sent == [1]
    with pytest.raises(ZeroDivisionError), process.database.ledger() as tx:
        enqueue(tx, probe_jobs.Noop(), org_id=org)
        raise ZeroDivisionError
    assert sent == [1]


def test_many_jobs_are_enqueued_at_once(process: Runtime, org: UUID) -> None:
    jobs = [NewJob("probe_jobs.noop", org, {}) for _ in range(1000)]
    with process.database.ledger() as tx:
        answers = enqueue_jobs(tx, jobs)
    assert len({answer.job_id for answer in answers}) == 1000
    assert sum(answer.publish for answer in answers) == process.settings.burst
    assert len(claim_demanded(process.database)) == 1000 - process.settings.burst


def test_an_outcome_that_cannot_be_written_ends_the_job_with_the_reason(
    process: Runtime, database: Connection, org: UUID
) -> None:
    job_id, _ = run(process, org, probe_jobs.unruly, word="x")
    assert row(database, job_id)["state"] == "dead"
    error = row(database, job_id)["error"]
    assert isinstance(error, dict)
    assert error["reason"].startswith("job_type: nobody.knows")

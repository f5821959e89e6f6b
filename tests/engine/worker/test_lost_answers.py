"""PostgreSQL goes away between a commit and its answer: what was committed is not lost from sight (P1)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from psycopg import Connection

from domain.jobs.job import Hint
from engine.app import publish_catalogue
from engine.catalogue import Job
from engine.runtime import Runtime, install
from engine.worker.lease import renew
from settings import Settings
from storage.postgres.database import Database, Transaction
from storage.postgres.execution import DatabaseUnavailable
from tests.doubles import probe_jobs
from tests.doubles.factories import enqueue_one, make_org
from tests.doubles.inline_worker import InlineWorker
from tests.invariants import check_ledger


class Forgetful(Database):
    """Commits, and then loses the answer of the transactions whose numbers are given."""

    def __init__(self, settings: Settings, lost: set[int]) -> None:
        super().__init__(settings)
        self._lost = lost
        self._transactions = 0

    @contextmanager
    def ledger(self) -> Iterator[Transaction]:
        with super().ledger() as transaction:
            yield transaction
        self._lose()

    @contextmanager
    def statements(self) -> Iterator[Transaction]:
        with super().statements() as transaction:
            yield transaction
        self._lose()

    @contextmanager
    def pinned(self) -> Iterator[Transaction]:
        with super().pinned() as transaction:
            yield transaction
        self._lose()

    def _lose(self) -> None:
        self._transactions += 1
        if self._transactions in self._lost:
            raise DatabaseUnavailable("the answer was lost")


def test_a_claim_whose_answer_was_lost_is_taken_up_again(settings: Settings, database: Connection) -> None:
    org = make_org(database)
    with run_process(settings) as process:
        job_id = enqueue_one(process.database, org, "probe_jobs.noop")
        process.database = Forgetful(settings, lost={1})
        assert run_hinted(process, probe_jobs.noop, job_id) == "succeeded"
    events = database.execute("select event, data ->> 'cause' from audit_log where job_id = %s order by id", (job_id,))
    assert events.fetchall() == [
        ("job.enqueued", None),
        ("job.claimed", None),
        ("job.retried", "unanswered"),
        ("job.started", None),
        ("job.succeeded", None),
    ]
    check_ledger(database)


def test_a_settlement_whose_answer_was_lost_is_not_written_twice(settings: Settings, database: Connection) -> None:
    org = make_org(database)
    with run_process(settings) as process:
        job_id = enqueue_one(process.database, org, "probe_jobs.noop")
        process.database = Forgetful(settings, lost={2})
        assert run_hinted(process, probe_jobs.noop, job_id) == "claim_lost"
    assert database.execute("select state from jobs where id = %s", (job_id,)).fetchone() == ("succeeded",)
    check_ledger(database)


def test_what_happened_outside_is_recorded_although_the_database_was_away(
    settings: Settings, database: Connection
) -> None:
    """With a strategy that could never find out again, a lost record would need a person."""
    org = make_org(database)
    before = len(probe_jobs.CALLS)
    with run_process(settings) as process:
        order = {"key": "sms:1", "goes": ["ok"], "strategy": "at_most_once"}
        job_id = enqueue_one(process.database, org, "probe_jobs.effectful", payload=order)
        recording = 4  # after the claim, the look for a cancel, and the intent
        process.database = Forgetful(settings, lost={recording})
        assert run_hinted(process, probe_jobs.effectful, job_id) == "succeeded"
    assert len(probe_jobs.CALLS) == before + 1
    statuses = database.execute("select status from idempotency_keys where kind = 'effect'").fetchall()
    assert statuses == [("succeeded",)]
    check_ledger(database)


def run_hinted(process: Runtime, job_type: Job[Any], job_id: UUID) -> str:
    """Run a job by its hint; every transaction, from the first on, is the worker's own."""
    return InlineWorker(process).run(Hint(job_id, job_type.name, job_type.queue.value))


@contextmanager
def run_process(settings: Settings) -> Iterator[Runtime]:
    """A process of the fleet inside the test's own."""
    process = Runtime(settings)
    first = process.database
    install(process)
    publish_catalogue()
    renew(process)
    try:
        yield process
    finally:
        install(None)
        process.close()
        first.dispose()

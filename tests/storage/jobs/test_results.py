"""Who waits for a result: it becomes due in the transaction that ends the job, whatever ends it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Thread
from uuid import UUID

import pytest
from psycopg import Connection, connect

from domain.jobs.failures import Failure, Permanent
from domain.jobs.job import Cancel, Done, Origin, Outcome, State
from domain.jobs.lifecycle import MAX_LOSSES, lose, settlement_of
from domain.jobs.results import LARGEST_OUTPUT, pauses
from domain.jobs.retry import STANDARD
from storage.jobs import ledger, recovery, results
from storage.jobs.results import DueResult
from storage.postgres.database import Database
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_org, make_worker, pass_time
from tests.waiting import eventually, patient

NOW = datetime.now(UTC)
TASK_ID = "a task"


@pytest.fixture
def org(database: Connection, store: Database) -> UUID:
    make_job_type(store)
    return make_org(database)


def ask(store: Database, *job_ids: UUID, task_id: str = TASK_ID, is_sent: bool = True) -> frozenset[UUID]:
    with store.ledger() as tx:
        return results.ask_for(tx, [(job_id, task_id) for job_id in job_ids], is_sent=is_sent)


def take(store: Database, most: int = 10) -> tuple[DueResult, ...]:
    with store.ledger() as tx:
        return results.take_due(tx, most=most)


def end(store: Database, job_id: UUID, outcome: Outcome | Failure) -> None:
    settlement = settlement_of(claim_one(store, job_id), outcome, STANDARD, NOW, 0.0)
    with store.statements() as tx:
        assert not ledger.settle(tx, [settlement]).refused


def succeed(store: Database, _: Connection, job_id: UUID) -> None:
    end(store, job_id, Done({"a": 1}))


def fail(store: Database, _: Connection, job_id: UUID) -> None:
    end(store, job_id, Permanent("no use"))


def give_up(store: Database, _: Connection, job_id: UUID) -> None:
    end(store, job_id, Cancel("pointless"))


def cancel(store: Database, _: Connection, job_id: UUID) -> None:
    with store.ledger() as tx:
        ledger.cancel(tx, [job_id], "an operator", by=Origin(actor_id="ada"))


def expire(store: Database, database: Connection, job_id: UUID) -> None:
    database.execute("update jobs set expires_at = now() - interval '1 s' where id = %s", (job_id,))
    worker = make_worker(store)
    with store.ledger() as tx:
        claims = ledger.claim(tx, [job_id], worker.worker_id, lease=timedelta(seconds=60))
        ledger.end_unclaimed(tx, list(claims.refused))


def poison(store: Database, database: Connection, job_id: UUID) -> None:
    database.execute("update jobs set losses = %s where id = %s", (MAX_LOSSES, job_id))
    with store.statements() as tx:
        assert not ledger.settle(tx, [lose(claim_one(store, job_id), guilty=True)]).refused


def outlive_the_deadline(store: Database, database: Connection, job_id: UUID) -> None:
    database.execute("update jobs set max_attempts = 1, deadline = '1 second' where id = %s", (job_id,))
    claim_one(store, job_id)
    pass_time(database, timedelta(seconds=30))  # less than the lease: nobody has lost the worker
    with store.ledger() as tx:
        recovery.rescue(tx, batch=10)


ENDS: dict[str, tuple[Callable[[Database, Connection, UUID], None], State]] = {
    "success": (succeed, State.SUCCEEDED),
    "failure": (fail, State.FAILED),
    "the handler's cancel": (give_up, State.CANCELED),
    "an operator's cancel": (cancel, State.CANCELED),
    "expiry": (expire, State.CANCELED),
    "poison": (poison, State.DEAD),
    "the deadline": (outlive_the_deadline, State.DEAD),
}


@pytest.mark.parametrize(("end_it", "state"), ENDS.values(), ids=ENDS)
def test_a_result_is_due_once_when_its_job_has_ended(
    store: Database,
    database: Connection,
    org: UUID,
    end_it: Callable[[Database, Connection, UUID], None],
    state: State,
) -> None:
    job_id = enqueue_one(store, org)
    assert ask(store, job_id) == {job_id}
    assert take(store) == ()
    end_it(store, database, job_id)
    (due,) = take(store)
    assert (due.task_id, due.result.state, due.result.job_id) == (TASK_ID, state, job_id)
    assert take(store) == (), "it is taken for a while"
    with store.ledger() as tx:
        results.note_sent(tx, [due.request_id])
    database.execute("update result_requests set send_at = send_at - interval '1 hour'")
    assert take(store) == ()


def test_nothing_is_written_for_a_job_whose_result_nobody_wants(
    store: Database, database: Connection, org: UUID
) -> None:
    end(store, enqueue_one(store, org), Done())
    assert database.execute("select count(*) from result_requests").fetchone() == (0,)


def test_the_result_of_a_job_that_has_ended_is_due_at_once_for_each_who_asks(store: Database, org: UUID) -> None:
    job_id = enqueue_one(store, org)
    end(store, job_id, Done({"a": 1}))
    for task_id in ("one", "two", "one"):
        ask(store, job_id, task_id=task_id)
    assert sorted(due.task_id for due in take(store)) == ["one", "two"]


def test_one_that_is_not_sent_is_found_by_its_task_id(store: Database, org: UUID) -> None:
    job_id = enqueue_one(store, org)
    ask(store, job_id, is_sent=False)
    end(store, job_id, Done({"a": 1}))
    assert take(store) == ()
    with store.ledger() as tx:
        found = results.find(tx, "a task", within=timedelta(seconds=5))
        assert found is not None
        assert (found.state, found.output) == (State.SUCCEEDED, {"a": 1})
        assert results.find(tx, "nobody's", within=timedelta(seconds=5)) is None


def test_a_job_that_there_is_not_is_not_asked_for(store: Database, database: Connection, org: UUID) -> None:
    assert ask(store, org) == frozenset()
    assert database.execute("select count(*) from result_requests").fetchone() == (0,)


def test_a_job_that_ends_while_it_is_asked_for_is_due(store: Database, database_url: str, org: UUID) -> None:
    """The two write the same row: whoever comes second sees what the other did."""
    job_id = enqueue_one(store, org)
    settlement = settlement_of(claim_one(store, job_id), Done(), STANDARD, NOW, 0.0)

    def settle() -> None:
        with patient(store.statements()) as other:
            ledger.settle(other, [settlement])

    ending = Thread(target=settle)
    with connect(database_url, autocommit=True) as watcher, store.ledger() as tx:
        results.ask_for(tx, [(job_id, TASK_ID)], is_sent=True)
        ending.start()
        eventually(
            lambda: (
                watcher.execute(
                    "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
                ).fetchone()
                is not None
            ),
            describe="the ending to wait for the row",
        )
    ending.join()
    assert [due.result.state for due in take(store)] == [State.SUCCEEDED]


def test_a_refused_message_is_answered(store: Database) -> None:
    with store.ledger() as tx:
        results.refuse(tx, [(TASK_ID, "org_id", "names no org")], is_sent=True)
    (due,) = take(store)
    code, reason = due.result.told_error or ("", "")
    assert (code, reason.partition(": ")[0]) == ("invalid", "org_id")


def test_results_leave_when_nobody_may_read_them_any_more(store: Database, database: Connection, org: UUID) -> None:
    ask(store, job_id := enqueue_one(store, org))
    end(store, job_id, Done())
    database.execute("update result_requests set keep_until = now() - interval '1 second'")
    assert take(store) == ()
    assert database.execute("select count(*) from result_requests").fetchone() == (0,)


def test_an_output_that_is_too_large_is_told_by_its_size(store: Database, org: UUID) -> None:
    ask(store, job_id := enqueue_one(store, org))
    end(store, job_id, Done({"a": "x" * LARGEST_OUTPUT}))
    (due,) = take(store)
    assert due.result.told_output == {"output_bytes": due.result.output_bytes, "job_id": str(job_id)}
    assert due.result.output_bytes > LARGEST_OUTPUT


def test_pauses_grow_and_stay_below_their_bound() -> None:
    made = pauses(0.5)
    assert [round(next(made), 2) for _ in range(7)] == [0.02, 0.04, 0.08, 0.16, 0.32, 0.5, 0.5]
    assert next(pauses(0.001)) == 0.001

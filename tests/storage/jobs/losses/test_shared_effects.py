"""Several jobs may begin one effect: it is kept while any of them may go on, whoever acted, and none acts again."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.effects import KEEP_EFFECT_FOR, EffectStatus, Standing, Strategy
from domain.jobs.failures import Failure, Invalid, Permanent
from domain.jobs.job import Cancel, ClaimedJob, Done, Origin, Outcome, Snooze
from domain.jobs.lifecycle import settlement_of
from domain.jobs.retry import STANDARD
from operations.jobs import replays
from storage.approvals import rulings
from storage.jobs import effects, ledger, retention
from storage.postgres.database import Database
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_org, pass_time
from tests.storage.jobs.test_end_hooks import NOW
from tests.waiting import patient, until_a_lock_is_waited_for

KEY, LONG, A_WEEK = "send:1", timedelta(days=60), timedelta(days=7)
REFUSED, UNREADABLE = Permanent("refused", code="a.refusal"), Invalid("a", "b")


@pytest.fixture
def org(store: Database, database: Connection) -> UUID:
    make_job_type(store)
    return make_org(database)


def begin(store: Database, job: ClaimedJob) -> Standing:
    with store.statements() as tx:
        return effects.begin_effect(tx, job, KEY, Strategy.FIND).standing


def finish(store: Database, job: ClaimedJob, status: EffectStatus = EffectStatus.SUCCEEDED) -> None:
    with store.statements() as tx:
        assert effects.finish_effect(tx, job, KEY, status, result={} if status is EffectStatus.SUCCEEDED else None)


def end(store: Database, job: ClaimedJob, ending: Outcome | Failure) -> None:
    with store.statements() as tx:
        ledger.settle(tx, [settlement_of(job, ending, STANDARD, NOW, 0.0)])


def act(store: Database, job_id: UUID, ending: Outcome | Failure) -> Standing:
    """One attempt at the effect, and how it ends; returns what stood there before."""
    job = claim_one(store, job_id)
    standing = begin(store, job)
    if standing is not Standing.DONE:
        finish(store, job)
    end(store, job, ending)
    return standing


def purge(store: Database, database: Connection, *, keep_jobs_for: timedelta = 2 * LONG) -> int:
    """Much later: how many keys leave, after the jobs that are past their retention."""
    pass_time(database, LONG)
    with store.statements() as tx:
        retention.delete_finished(tx, keep_for=keep_jobs_for, batch=100)
        return retention.purge_expired_keys(tx, batch=100)


def retry(store: Database, job_id: UUID) -> UUID:
    with patient(store.ledger()) as tx:
        return replays.retry(tx, job_id, by=Origin(), reason="mended")


def replay(store: Database, job_id: UUID) -> UUID:
    with store.ledger() as tx:
        return replays.replay(tx, job_id, by=Origin(), reason="mended")


@pytest.mark.parametrize("ending", [REFUSED, Cancel("nobody wants it")], ids=["failed", "canceled"])
def test_who_acted_and_ended_badly_does_not_act_again_after_another_relied_on_it(
    store: Database, database: Connection, org: UUID, ending: Outcome | Failure
) -> None:
    first = enqueue_one(store, org)
    assert act(store, first, ending) is Standing.ACT
    assert act(store, enqueue_one(store, org), Done()) is Standing.DONE
    assert purge(store, database) == 0
    assert act(store, retry(store, first), Done()) is Standing.DONE
    assert purge(store, database, keep_jobs_for=A_WEEK) == 1


@pytest.mark.parametrize("ending", [REFUSED, UNREADABLE], ids=["failed", "discarded"])
def test_who_relied_and_waits_does_not_act_when_the_one_that_acted_has_left(
    store: Database, database: Connection, org: UUID, ending: Failure
) -> None:
    first = enqueue_one(store, org)
    assert act(store, first, ending) is Standing.ACT
    waiting = enqueue_one(store, org)
    assert act(store, waiting, Snooze(NOW, "its account has no consent")) is Standing.DONE
    if ending is UNREADABLE:
        with store.ledger() as tx:
            replays.discard(tx, first, by=Origin(), reason="no use")
    assert purge(store, database, keep_jobs_for=A_WEEK) == 0
    assert act(store, waiting, Done()) is Standing.DONE


@pytest.mark.parametrize("ending", [REFUSED, UNREADABLE], ids=["retried", "replayed"])
def test_who_does_again_what_relied_does_not_act(
    store: Database, database: Connection, org: UUID, ending: Failure
) -> None:
    first, relying = enqueue_one(store, org), enqueue_one(store, org)
    act(store, first, REFUSED)
    assert act(store, relying, ending) is Standing.DONE
    again = replay(store, relying) if ending is UNREADABLE else retry(store, relying)
    assert purge(store, database, keep_jobs_for=A_WEEK) == 0, "both have left; the one that is done again waits"
    assert act(store, again, Done()) is Standing.DONE


def test_a_dead_job_does_not_act_again_when_another_has_found_out_for_it(
    store: Database, database: Connection, org: UUID
) -> None:
    """Its process died in the call each time; the other found the mail sent, recorded it and ended well."""
    dead, other = claim_one(store, enqueue_one(store, org)), enqueue_one(store, org)
    assert begin(store, dead) is Standing.ACT
    end(store, dead, UNREADABLE)
    assert act(store, other, Done()) is Standing.FIND_OUT
    assert purge(store, database) == 0
    assert act(store, replay(store, dead.job_id), Done()) is Standing.DONE


def test_who_did_nothing_does_not_act_after_another_has(store: Database, database: Connection, org: UUID) -> None:
    refused = claim_one(store, enqueue_one(store, org))
    begin(store, refused)
    finish(store, refused, EffectStatus.FAILED)
    end(store, refused, REFUSED)
    assert act(store, enqueue_one(store, org), Done()) is Standing.ACT
    assert purge(store, database) == 0
    assert act(store, retry(store, refused.job_id), Done()) is Standing.DONE


def test_nothing_stays_of_jobs_that_cannot_go_on(store: Database, database: Connection, org: UUID) -> None:
    left = "select (select count(*) from idempotency_keys where kind = 'effect'), (select count(*) from effect_jobs)"
    act(store, enqueue_one(store, org), REFUSED)
    for _ in range(3):
        act(store, enqueue_one(store, org), Done())
    assert database.execute(left).fetchone() == (1, 1), "of those that relied and ended well only the last is known"
    assert purge(store, database, keep_jobs_for=A_WEEK) == 1
    assert database.execute(left).fetchone() == (0, 0)


@pytest.mark.parametrize("status", [EffectStatus.FAILED, None], ids=["failed", "in_doubt"])
def test_what_a_replay_did_late_is_kept_from_then_on(
    store: Database, database: Connection, org: UUID, status: EffectStatus | None
) -> None:
    dead = claim_one(store, enqueue_one(store, org))
    begin(store, dead)
    if status is not None:
        finish(store, dead, status)
    end(store, dead, UNREADABLE)
    assert purge(store, database, keep_jobs_for=A_WEEK) == 0
    assert act(store, replay(store, dead.job_id), Done()) is not Standing.DONE
    with store.statements() as tx:
        assert retention.purge_expired_keys(tx, batch=100) == 0
    assert kept_for(database) == KEEP_EFFECT_FOR
    assert act(store, enqueue_one(store, org), Done()) is Standing.DONE


def test_a_result_is_kept_from_the_end_of_its_call_on(store: Database, database: Connection, org: UUID) -> None:
    job = claim_one(store, enqueue_one(store, org))
    begin(store, job)
    database.execute("update idempotency_keys set expires_at = now() where kind = 'effect'")
    finish(store, job)
    assert kept_for(database) == KEEP_EFFECT_FOR


def test_what_a_person_found_out_late_is_kept_from_then_on(store: Database, database: Connection, org: UUID) -> None:
    job = claim_one(store, enqueue_one(store, org))
    begin(store, job)
    finish(store, job, EffectStatus.UNKNOWN)
    end(store, job, REFUSED)
    assert purge(store, database, keep_jobs_for=A_WEEK) == 0
    with store.ledger() as tx:
        rulings.rule(tx, org, KEY, happened=True, result={})
        assert retention.purge_expired_keys(tx, batch=100) == 0
    assert kept_for(database) == KEEP_EFFECT_FOR
    assert act(store, enqueue_one(store, org), Done()) is Standing.DONE


@pytest.mark.parametrize("ending", [REFUSED, UNREADABLE], ids=["retried", "replayed"])
def test_who_does_a_job_again_has_its_effect_when_another_begins_it_meanwhile(
    store: Database, database: Connection, org: UUID, ending: Failure
) -> None:
    first, other = claim_one(store, enqueue_one(store, org)), claim_one(store, enqueue_one(store, org))
    begin(store, first)
    finish(store, first, EffectStatus.FAILED)
    end(store, first, ending)
    with ThreadPoolExecutor() as threads:
        with store.ledger() as tx:
            assert effects.begin_effect(tx, other, KEY, Strategy.FIND).standing is Standing.ACT
            again = threads.submit(retry, store, first.job_id)
            until_a_lock_is_waited_for(database, describe="the retry waits for the key of the effect")
        done_again = again.result()
    finish(store, other)
    end(store, other, Done())
    assert purge(store, database, keep_jobs_for=A_WEEK) == 0, "the one that is done again waits"
    assert act(store, done_again, Done()) is Standing.DONE


def kept_for(database: Connection) -> timedelta:
    """How long the effect is kept after it was last relied on."""
    row = database.execute("select expires_at - last_seen_at from idempotency_keys where kind = 'effect'").fetchone()
    assert row is not None
    kept: timedelta = row[0]
    return kept

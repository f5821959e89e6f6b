"""What a job left stays for as long as it may be done again: its row, its steps, and the keys of its effects."""

from datetime import timedelta
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.effects import EffectStatus, Standing, Strategy
from domain.jobs.failures import Failure, Invalid, Permanent
from domain.jobs.job import Cancel, Done, Origin, Outcome, Snooze
from domain.jobs.lifecycle import settlement_of
from domain.jobs.retry import STANDARD
from operations.jobs import replays
from storage.jobs import effects, ledger, retention
from storage.jobs.replays import dead_letters
from storage.postgres.database import Database
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_org, pass_time
from tests.storage.jobs.test_end_hooks import NOW

KEY, LONG = "send:1", timedelta(days=60)


@pytest.fixture
def org(store: Database, database: Connection) -> UUID:
    make_job_type(store)
    return make_org(database)


@pytest.fixture
def dead(store: Database, org: UUID) -> UUID:
    """A job that sent something, paid for a step, and died."""
    job_id = enqueue_one(store, org)
    act(store, job_id)
    return job_id


def act(store: Database, job_id: UUID, *, dies: bool = True, end: Outcome | Failure | None = None) -> Standing:
    """One attempt at the effect and a step; returns what stood there before."""
    job = claim_one(store, job_id)
    with store.statements() as tx:
        standing = effects.begin_effect(tx, job, KEY, Strategy.FIND).standing
        if standing is not Standing.DONE:
            effects.finish_effect(tx, job, KEY, EffectStatus.SUCCEEDED, result={"id": 7})
        effects.save_step(tx, job, "ask", {"answer": 1}, 5, took=timedelta(seconds=2))
        ledger.settle(tx, [settlement_of(job, end or (Invalid("a", "b") if dies else Done()), STANDARD, NOW, 0.0)])
    return standing


def clean_up(store: Database, database: Connection) -> tuple[int, int]:
    """Much later: how many jobs and keys retention takes."""
    pass_time(database, LONG)
    with store.statements() as tx:
        deleted = retention.delete_finished(tx, keep_for=timedelta(days=7), batch=100).deleted
        return deleted, retention.purge_expired_keys(tx, batch=100)


def replay(store: Database, job_id: UUID) -> UUID:
    with store.ledger() as tx:
        return replays.replay(tx, job_id, by=Origin(), reason="mended")


def test_a_late_replay_neither_acts_nor_pays_again(store: Database, database: Connection, dead: UUID) -> None:
    assert clean_up(store, database) == (0, 0)
    again = replay(store, dead)
    assert clean_up(store, database) == (1, 0), "the dead job goes with its letter closed; its replay waits"
    with store.statements() as tx:
        assert effects.load_step(tx, again, "ask") == {"answer": 1}
    assert act(store, again, dies=False) is Standing.DONE
    # What was relied on stays for as long as an effect that was just caused.
    with store.statements() as tx:
        assert retention.purge_expired_keys(tx, batch=100) == 0
    assert clean_up(store, database) == (1, 1)


@pytest.mark.parametrize("end", [Permanent("refused", code="a.refusal"), Cancel("nobody wants it")])
def test_a_late_retry_neither_acts_nor_pays_again(
    store: Database, database: Connection, org: UUID, end: Outcome | Failure
) -> None:
    job_id = enqueue_one(store, org)
    act(store, job_id, end=end)
    with store.ledger() as tx:
        again = replays.retry(tx, job_id, by=Origin(), reason="mended")
    assert clean_up(store, database) == (1, 0), "the job that has ended goes; the one that does it again waits"
    assert act(store, again, dies=False) is Standing.DONE


def test_a_discarded_letter_keeps_nothing(store: Database, database: Connection, dead: UUID) -> None:
    with store.ledger() as tx:
        letter = dead_letters.get(tx, dead)
        assert letter is not None
        replays.discard(tx, letter.letter_id, by=Origin(), reason="no use")
    assert clean_up(store, database) == (1, 1)


def test_an_unfinished_job_keeps_the_effects_of_its_attempts(store: Database, database: Connection, org: UUID) -> None:
    job = claim_one(store, enqueue_one(store, org))
    with store.statements() as tx:
        effects.begin_effect(tx, job, KEY, Strategy.FIND)
        effects.finish_effect(tx, job, KEY, EffectStatus.SUCCEEDED, result={"id": 7})
    assert clean_up(store, database) == (0, 0)


def test_whoever_relied_on_anothers_effect_keeps_it(store: Database, database: Connection, org: UUID) -> None:
    assert act(store, enqueue_one(store, org), dies=False) is Standing.ACT
    relying = enqueue_one(store, org)
    assert act(store, relying) is Standing.DONE
    assert clean_up(store, database) == (1, 0)
    assert act(store, replay(store, relying), dies=False) is Standing.DONE


def wait_after_acting(store: Database, org: UUID, ending: Snooze | Failure) -> UUID:
    """A job that has sent something, and whose attempt then ended so."""
    job_id = enqueue_one(store, org)
    job = claim_one(store, job_id)
    with store.statements() as tx:
        effects.begin_effect(tx, job, KEY, Strategy.FIND)
        effects.finish_effect(tx, job, KEY, EffectStatus.SUCCEEDED, result={"id": 7})
        ledger.settle(tx, [settlement_of(job, ending, STANDARD, NOW, 0.0)])
    return job_id


def retry(store: Database, job_id: UUID) -> UUID:
    with store.ledger() as tx:
        return replays.retry(tx, job_id, by=Origin(), reason="now")


def test_a_job_that_was_canceled_after_a_long_wait_does_not_act_again_when_it_is_retried(
    store: Database, database: Connection, org: UUID
) -> None:
    job_id = wait_after_acting(store, org, Snooze(NOW, "its account has no consent"))
    pass_time(database, LONG)
    with store.ledger() as tx:
        ledger.cancel(tx, [job_id], "not now", by=Origin())
        assert retention.purge_expired_keys(tx, batch=100) == 0
    again = retry(store, job_id)
    assert act(store, again, dies=False) is Standing.DONE


def test_a_retry_that_waits_for_long_does_not_act_again(store: Database, database: Connection, org: UUID) -> None:
    again = retry(store, wait_after_acting(store, org, Permanent("refused")))
    assert clean_up(store, database) == (1, 0), "the failed job goes; the effect is its retry's"
    assert act(store, again, dies=False) is Standing.DONE


def test_a_job_that_ended_without_success_takes_its_effects_with_it(
    store: Database, database: Connection, org: UUID
) -> None:
    wait_after_acting(store, org, Permanent("refused"))
    assert clean_up(store, database) == (1, 1)

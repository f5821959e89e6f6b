"""What was sent is kept while nobody knows whether it happened, and forgotten once somebody knows."""

from datetime import timedelta
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.effects import EffectStatus, Strategy
from domain.jobs.job import ClaimedJob
from storage.approvals import doubts, rulings
from storage.jobs import effects
from storage.postgres.database import Database
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_org

KEY = "send:1"
SENT = b"what was sent"


@pytest.fixture
def org(store: Database, database: Connection) -> UUID:
    make_job_type(store)
    make_job_type(store, "maintenance.resolve_effect")
    return make_org(database)


@pytest.fixture
def sender(store: Database, org: UUID) -> ClaimedJob:
    """A held job that has sent something, and has no answer yet."""
    job = claim_one(store, enqueue_one(store, org))
    with store.statements() as tx:
        effects.begin_effect(tx, job, KEY, Strategy.FIND, lasts=timedelta(seconds=30), request=SENT)
    return job


@pytest.fixture
def resolver(store: Database, org: UUID) -> ClaimedJob:
    """A held job that is to find out."""
    return claim_one(store, enqueue_one(store, org, "maintenance.resolve_effect"))


def kept(database: Connection) -> bytes | None:
    ((request,),) = database.execute("select request from idempotency_keys where key = %s", (KEY,)).fetchall()
    return None if request is None else bytes(request)


def leave_unknown(store: Database, sender: ClaimedJob) -> None:
    with store.statements() as tx:
        assert effects.finish_effect(tx, sender, KEY, EffectStatus.UNKNOWN)


@pytest.mark.parametrize("status", [EffectStatus.SUCCEEDED, EffectStatus.FAILED])
def test_the_end_of_a_call_forgets_what_was_sent(
    store: Database, database: Connection, sender: ClaimedJob, status: EffectStatus
) -> None:
    with store.statements() as tx:
        assert effects.finish_effect(tx, sender, KEY, status, result={})
    assert kept(database) is None


@pytest.mark.parametrize("happened", [True, False])
def test_a_person_s_ruling_forgets_what_was_sent(
    store: Database, database: Connection, org: UUID, sender: ClaimedJob, *, happened: bool
) -> None:
    leave_unknown(store, sender)
    assert kept(database) == SENT
    with store.ledger() as tx:
        rulings.rule(tx, org, KEY, happened=happened, result={})
    assert kept(database) is None


@pytest.mark.parametrize(
    ("status", "then"),
    [(EffectStatus.SUCCEEDED, None), (EffectStatus.FAILED, None), (EffectStatus.UNKNOWN, SENT)],
)
def test_what_a_job_found_out_forgets_what_was_sent(
    store: Database,
    database: Connection,
    sender: ClaimedJob,
    resolver: ClaimedJob,
    status: EffectStatus,
    then: bytes | None,
) -> None:
    leave_unknown(store, sender)
    with store.statements() as tx:
        doubt = doubts.read(tx, resolver, KEY)
        assert doubt is not None
        assert doubts.conclude(tx, resolver, doubt, status, result={})
    assert kept(database) == then


def test_what_was_sent_is_read_of_an_effect_in_doubt_alone(
    store: Database, sender: ClaimedJob, resolver: ClaimedJob
) -> None:
    with store.statements() as tx:
        assert doubts.read_request(tx, resolver, KEY) is None, "its job is at it"
    leave_unknown(store, sender)
    with store.statements() as tx:
        assert doubts.read_request(tx, resolver, KEY) == SENT
        assert doubts.read_request(tx, sender, KEY) is None, "it is another kind of job"


def test_an_effect_that_is_begun_again_is_kept_anew(store: Database, database: Connection, sender: ClaimedJob) -> None:
    with store.statements() as tx:
        assert effects.finish_effect(tx, sender, KEY, EffectStatus.FAILED)
    kept_for = "select expires_at - now() > interval '1 day' from idempotency_keys where key = %s"
    assert database.execute(kept_for, (KEY,)).fetchall() == [(True,)]
    database.execute("update idempotency_keys set expires_at = now() + interval '1 hour' where key = %s", (KEY,))
    with store.statements() as tx:
        effects.begin_effect(tx, sender, KEY, Strategy.FIND)
    assert database.execute(kept_for, (KEY,)).fetchall() == [(True,)]

"""A key that a caller names: it guards for its time, whatever the type's own rule, and belongs to one request."""

from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from domain.jobs.effects import EffectStatus, Strategy
from domain.jobs.failures import Invalid
from domain.jobs.job import KeysOf, NewJob, State
from engine.enqueue import enqueue_jobs
from engine.runtime import Runtime
from storage.jobs import effects, ledger
from storage.postgres.database import Transaction
from tasks.mail.gmail import sync
from tests.doubles.factories import claim_one, make_job_type
from tests.engine.entry_points import ENTRY_POINTS, GOOD, EntryPoint, Given
from tests.storage.jobs.test_ledger import finish

KEY = "import-4711"
OTHER = {"account_id": str(uuid4())}
ANOTHER_REQUEST = "belongs to another request, which asked for something else"

AT_EACH_ENTRY_POINT = pytest.mark.parametrize("enqueue", ENTRY_POINTS.values(), ids=ENTRY_POINTS)


def named(payload: Given, **given: object) -> Given:
    """The fields of a job under the key."""
    return {"payload": payload, "idempotency_key": KEY, **given}


def make_two(tx: Transaction, first: NewJob, second: NewJob) -> list[UUID]:
    """Both in one statement."""
    return [answer.job_id for answer in enqueue_jobs(tx, [first, second])]


@AT_EACH_ENTRY_POINT
def test_a_named_key_guards_a_type_that_is_unique_while_queued_when_its_job_has_begun(
    process: Runtime, org: UUID, database: Connection, enqueue: EntryPoint
) -> None:
    job_id = enqueue(process, org, named(GOOD))
    token = claim_one(process.database, job_id).token
    assert enqueue(process, org, named(GOOD)) == job_id
    finish(process.database, job_id, token, State.SUCCEEDED)
    assert enqueue(process, org, named(GOOD)) == job_id
    assert database.execute("select count(*) from jobs").fetchone() == (1,)


@AT_EACH_ENTRY_POINT
def test_the_types_own_rule_holds_where_no_key_is_named(process: Runtime, org: UUID, enqueue: EntryPoint) -> None:
    if enqueue is ENTRY_POINTS["celery"]:
        pytest.skip("the contract names a key always")
    job_id = enqueue(process, org, {"payload": GOOD})
    assert enqueue(process, org, {"payload": GOOD}) == job_id
    claim_one(process.database, job_id)
    assert enqueue(process, org, {"payload": GOOD}) != job_id


@AT_EACH_ENTRY_POINT
@pytest.mark.parametrize("first", ["sql", "http"])
def test_each_entry_point_refuses_a_key_that_belongs_to_another_request(
    process: Runtime, org: UUID, database: Connection, enqueue: EntryPoint, first: str
) -> None:
    job_id = ENTRY_POINTS[first](process, org, named(GOOD))
    with pytest.raises(Invalid) as refused:
        enqueue(process, org, named(OTHER))
    said = refused.value.reason.removeprefix("idempotency_key: ")
    assert (refused.value.field, said) == ("idempotency_key", ANOTHER_REQUEST)
    database.execute("delete from refused_messages")
    same = GOOD | {"reason": "admin", "history_id": None} if first == "sql" else GOOD
    assert enqueue(process, org, named(same)) == job_id, "the defaults say the same"
    assert database.execute("select count(*) from jobs where state <> 'dead'").fetchone() == (1,)


def test_two_requests_of_one_batch_under_one_key_must_ask_for_the_same(process: Runtime, org: UUID) -> None:
    mine, other = (NewJob("gmail.sync", org, payload, idempotency_key=KEY) for payload in (GOOD, OTHER))
    with process.database.ledger() as tx, pytest.raises(Invalid, match=ANOTHER_REQUEST):
        make_two(tx, mine, other)
    with process.database.ledger() as tx:
        assert len(set(make_two(tx, mine, mine))) == 1
        assert len(set(make_two(tx, mine, other._replace(folds=True)))) == 1


@AT_EACH_ENTRY_POINT
def test_a_job_under_the_key_of_an_effect_is_made_and_the_effect_goes_on(
    process: Runtime, org: UUID, database: Connection, enqueue: EntryPoint
) -> None:
    """A caller who names a key as we name an effect's neither blocks that effect nor gets its answer."""
    make_job_type(process.database, "probe.run")
    with process.database.ledger() as tx:
        (job_id,) = [made.job_id for made in enqueue_jobs(tx, [NewJob("probe.run", org, {})])]
    job = claim_one(process.database, job_id)
    with process.database.ledger() as tx:
        effects.begin_effect(tx, job, KEY, Strategy.FIND)
    made = enqueue(process, org, named(GOOD))
    assert made != job_id
    assert enqueue(process, org, named(GOOD)) == made
    with process.database.ledger() as tx:
        assert effects.finish_effect(tx, job, KEY, EffectStatus.SUCCEEDED, result={"id": "d1"})
    rows = database.execute("select kind, job_id from idempotency_keys where key = %s order by kind", (KEY,)).fetchall()
    assert rows == [("effect", job_id), ("named", made)]


@pytest.mark.parametrize("together", [True, False], ids=["one batch", "one after the other"])
def test_two_keys_for_one_id_leave_no_guard_behind(
    process: Runtime, org: UUID, database: Connection, *, together: bool
) -> None:
    job_id = uuid4()
    jobs = [NewJob("gmail.sync", org, GOOD, job_id=job_id, idempotency_key=key) for key in ("one", "two")]
    if together:
        with process.database.ledger() as tx, pytest.raises(Invalid, match="job_id: "):
            make_two(tx, *jobs)
    for job in jobs:
        with process.database.ledger() as tx:
            enqueue_jobs(tx, [job])
    assert database.execute("select key, job_id from idempotency_keys").fetchall() == [("one", job_id)]


@pytest.mark.parametrize("count", [1, 2], ids=["alone", "in a batch"])
def test_a_tenant_cannot_keep_the_relay_from_its_jobs(
    process: Runtime, org: UUID, database: Connection, count: int
) -> None:
    jobs = [sync.payload(account_id=uuid4()).job(org_id=org) for _ in range(count)]
    with process.database.tenant(org) as tx:
        ledger.enqueue(tx, jobs, publisher=True, hint_timeout=timedelta(days=365_000))
    latest = database.execute("select max(next_check_at) < now() + interval '61 minutes' from jobs").fetchone()
    assert latest == (True,)


@pytest.mark.parametrize("count", [1, 2], ids=["alone", "in a batch"])
def test_times_of_any_offset_are_the_same_times(process: Runtime, org: UUID, database: Connection, count: int) -> None:
    """PostgreSQL reads offsets of less than 16 hours only; Python and RFC 3339 know them up to 23:59."""
    at = datetime(2030, 1, 1, 12, tzinfo=timezone(timedelta(hours=23, minutes=59)))
    jobs = [sync.payload(account_id=uuid4()).job(org_id=org, run_at=at) for _ in range(count)]
    with process.database.ledger() as tx:
        enqueue_jobs(tx, jobs)
    assert set(database.execute("select run_at from jobs").fetchall()) == {(at.astimezone(UTC),)}
    far = jobs[0]._replace(run_at=datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))))
    with process.database.ledger() as tx, pytest.raises(Invalid, match="run_at: "):
        enqueue_jobs(tx, [far] * count)


FAR = datetime(2099, 1, 1, tzinfo=UTC)


def ingest(process: Runtime, org: UUID, given: Given) -> UUID:
    """A job of another type, as a client asks for it."""
    payload, key = GOOD | {"message_id": "m1"}, str(given["idempotency_key"])
    job = NewJob("gmail.ingest", org, payload, idempotency_key=key, keys_of=KeysOf.CLIENT)
    with process.database.ledger() as tx:
        return enqueue_jobs(tx, [job])[0].job_id


@pytest.mark.parametrize("enqueue", [*ENTRY_POINTS.values(), ingest], ids=[*ENTRY_POINTS, "of another type"])
def test_nobody_can_name_a_job_as_the_ledger_names_another(
    process: Runtime, org: UUID, database: Connection, enqueue: EntryPoint
) -> None:
    """What the fleet derives a key for is made, and is the job of that type, whatever a client names its own."""
    owed = sync.payload(account_id=UUID(GOOD["account_id"]), reason="push").job(org_id=org)
    with process.database.ledger() as tx:
        (first,) = enqueue_jobs(tx, [owed])
    rows = database.execute("select idempotency_key from jobs").fetchall()
    database.execute("delete from idempotency_keys")
    database.execute("delete from jobs")
    assert first.created
    named_job = enqueue(process, org, {"payload": GOOD, "idempotency_key": rows[0][0]})
    with process.database.ledger() as tx:
        (alone,) = enqueue_jobs(tx, [owed])
        batch = enqueue_jobs(tx, [owed, owed])
    assert alone.created
    assert alone.job_id != named_job
    assert {one.job_id for one in batch} == {alone.job_id}
    assert not any(one.created for one in batch)


@pytest.mark.parametrize("enqueue", [ENTRY_POINTS[name] for name in ("sql", "http")], ids=["sql", "http"])
@pytest.mark.parametrize("count", [1, 2], ids=["alone", "in a batch"])
def test_what_the_fleet_owes_folds_into_no_job_that_a_client_asked_for(
    process: Runtime, org: UUID, database: Connection, enqueue: EntryPoint, count: int
) -> None:
    far = FAR.isoformat()
    asked = enqueue(process, org, {"payload": GOOD, "run_at": far})
    assert enqueue(process, org, {"payload": GOOD, "run_at": far}) == asked, "a client's own requests fold"
    owed = [sync.payload(account_id=UUID(GOOD["account_id"]), reason="push").job(org_id=org)] * count
    with process.database.ledger() as tx:
        made = enqueue_jobs(tx, owed)
    assert made[0].created
    assert {one.job_id for one in made}.isdisjoint({asked})
    assert database.execute("select count(*) from jobs where run_at <= now()").fetchone() == (1,)


@pytest.mark.parametrize("count", [1, 2], ids=["alone", "in a batch"])
def test_a_request_that_folds_needs_a_job_of_its_own_type(process: Runtime, org: UUID, count: int) -> None:
    first = NewJob("gmail.sync", org, GOOD, idempotency_key=KEY)
    other = NewJob("gmail.ingest", org, GOOD | {"message_id": "m1"}, idempotency_key=KEY, folds=True)
    with process.database.ledger() as tx:
        enqueue_jobs(tx, [first])
    with process.database.ledger() as tx:
        assert not enqueue_jobs(tx, [first._replace(payload=OTHER, folds=True)] * count)[0].created
    with process.database.ledger() as tx, pytest.raises(Invalid, match=ANOTHER_REQUEST):
        enqueue_jobs(tx, [other] * count)


def test_a_schedules_tick_is_no_job_that_a_client_named(process: Runtime, org: UUID) -> None:
    tick = NewJob("gmail.sync", org, GOOD, idempotency_key=KEY, keys_of=KeysOf.FLEET, folds=True)
    asked = ENTRY_POINTS["sql"](process, org, named(GOOD, run_at=FAR))
    with process.database.ledger() as tx:
        (made,) = enqueue_jobs(tx, [tick])
        (again,) = enqueue_jobs(tx, [tick])
    assert (made.created, again.created, again.job_id) == (True, False, made.job_id)
    assert made.job_id != asked

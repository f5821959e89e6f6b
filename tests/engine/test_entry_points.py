"""Every entry point takes the same jobs and writes the same rows, and refuses the same mistakes by the same field."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg import Connection
from psycopg.types.json import Jsonb

from domain.jobs.contract import LARGEST_PAYLOAD
from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject, NewJob
from domain.payloads.shape import shape_of
from engine.enqueue import enqueue_jobs
from engine.runtime import Runtime
from tasks.mail.gmail import sync
from tests.doubles.factories import make_job_type, make_org
from tests.doubles.inline_worker import run_job
from tests.doubles.messages.adopting import adopt
from tests.doubles.messages.odd_messages import contract
from tests.engine.entry_points import (
    ACCOUNT,
    AT_EACH,
    ENTRY_POINTS,
    GOOD,
    EntryPoint,
    Given,
    celery,
    refusal,
    sql,
)

SPELLINGS = {
    "plain": str(ACCOUNT),
    "upper case": str(ACCOUNT).upper(),
    "no dashes": ACCOUNT.hex,
    "urn": ACCOUNT.urn,
    "braces": f"{{{ACCOUNT}}}",
}

DEEP: dict[str, Any] = {}
for _ in range(70):
    DEEP = {"a": DEEP}

OF_JOB: Mapping[str, tuple[Given, str, str]] = {
    "a list": ({"payload": [GOOD]}, "payload", "Input should be a valid dictionary"),
    "too large": (
        {"payload": GOOD | {"reason": "x" * LARGEST_PAYLOAD}},
        "payload",
        f"has more than {LARGEST_PAYLOAD} bytes",
    ),
    "too deep": ({"payload": GOOD | {"reason": DEEP}}, "payload", "nests more than 64 levels deep"),
    "a newer version": ({"payload_version": 2}, "payload_version", "2 is newer than the fleet knows (1)"),
    "no version": ({"payload_version": 0}, "payload_version", "Input should be greater than or equal to 1"),
    "a long key": (
        {"idempotency_key": "k" * 401},
        "idempotency_key",
        "String should have at most 400 characters",
    ),
    "an empty key": ({"idempotency_key": ""}, "idempotency_key", "String should have at least 1 character"),
    "a long actor": ({"actor_id": "a" * 201}, "actor_id", "String should have at most 200 characters"),
    "a long request": ({"request_id": "r" * 201}, "request_id", "String should have at most 200 characters"),
    "a priority above all": ({"priority": 101}, "priority", "Input should be less than or equal to 100"),
    "a priority past any column": ({"priority": -100_000}, "priority", "Input should be greater than or equal to -100"),
    "no attempt": ({"max_attempts": 0}, "max_attempts", "Input should be greater than or equal to 1"),
    "too many attempts": ({"max_attempts": 101}, "max_attempts", "Input should be less than or equal to 100"),
    "attempts past any column": (
        {"max_attempts": 100_000},
        "max_attempts",
        "Input should be less than or equal to 100",
    ),
    "no time before a retry": ({"retry_base_s": 0}, "retry_base_s", "Input should be greater than or equal to 1"),
    "more than a day before a retry": (
        {"retry_cap_s": 86_401},
        "retry_cap_s",
        "Input should be less than or equal to 86400",
    ),
}
"""Mistakes in a job, each with the field and the reason that every entry point says."""

AN_INTEGER, A_UUID = "Input should be a valid integer", "Input should be a valid UUID"
WORDS = "Input should be 'push', 'fallback', 'full', 'connected' or 'admin'"
OF_PAYLOAD: Mapping[str, tuple[Given, str, str, str | None]] = {
    "a missing field": ({}, "account_id", "Field required", "is required"),
    "an unknown field": (GOOD | {"colour": "red"}, "colour", "Extra inputs are not permitted", "is no field"),
    "no uuid": ({"account_id": "ann"}, "account_id", A_UUID, "is no uuid"),
    "a number as uuid": ({"account_id": 7}, "account_id", A_UUID, 'is a JSON number; may be: ["string"]'),
    "null": ({"account_id": None}, "account_id", A_UUID, 'is a JSON null; may be: ["string"]'),
    "text as boolean": (
        GOOD | {"force_full": "yes"},
        "force_full",
        "Input should be a valid boolean",
        'is a JSON string; may be: ["boolean"]',
    ),
    "text as integer": (GOOD | {"history_id": "7a"}, "history_id", AN_INTEGER, None),
    "a fraction as integer": (GOOD | {"history_id": 7.5}, "history_id", AN_INTEGER, None),
    "an unknown word": (GOOD | {"reason": "mood"}, "reason", WORDS, None),
}
"""Mistakes in a payload: field, reason, and SQL's reason; None where SQL takes the job, which dies."""

IN_PYTHON = {name: one for name, one in ENTRY_POINTS.items() if one is not sql}


@AT_EACH
@pytest.mark.parametrize(("given", "field", "reason"), OF_JOB.values(), ids=OF_JOB)
def test_each_entry_point_refuses_a_job_in_the_same_words(
    process: Runtime, org: UUID, database: Connection, enqueue: EntryPoint, given: Given, field: str, reason: str
) -> None:
    assert refusal(process, org, enqueue, {"payload": GOOD, **given}) == (field, reason)
    assert database.execute("select count(*) from jobs").fetchone() == (0,)


@pytest.mark.parametrize("mistake", OF_PAYLOAD.values(), ids=OF_PAYLOAD)
@pytest.mark.parametrize("enqueue", IN_PYTHON.values(), ids=IN_PYTHON)
def test_each_but_sql_refuses_a_payload_in_the_words_of_its_class(
    process: Runtime, org: UUID, database: Connection, enqueue: EntryPoint, mistake: tuple[Given, str, str, str | None]
) -> None:
    payload, field, reason, _ = mistake
    assert refusal(process, org, enqueue, {"payload": payload}) == (f"payload.{field}", reason)
    assert database.execute("select count(*) from jobs").fetchone() == (0,)


@pytest.mark.parametrize(("payload", "field", "reason", "in_sql"), OF_PAYLOAD.values(), ids=OF_PAYLOAD)
def test_sql_refuses_a_payload_by_its_shape_and_the_worker_what_fits_no_deeper(
    process: Runtime, org: UUID, database: Connection, payload: Given, field: str, reason: str, in_sql: str | None
) -> None:
    if in_sql is not None:
        assert refusal(process, org, sql, {"payload": payload}) == (f"payload.{field}", in_sql)
        return
    job_id = sql(process, org, {"payload": payload})
    assert run_job(process, sync, job_id) == "dead"
    error = database.execute("select error ->> 'code', error ->> 'reason' from jobs where id = %s", (job_id,))
    assert error.fetchone() == ("invalid", f"payload.{field}: {reason}")


@pytest.mark.parametrize("name", ["user_id", "connection_id"])
def test_sql_knows_a_field_by_its_own_name_only(process: Runtime, org: UUID, name: str) -> None:
    """A unique key and a concurrency key are made of the field when the job is inserted."""
    wanted = (f"payload.{name}", "is no field: give account_id")
    assert refusal(process, org, sql, {"payload": {name: str(ACCOUNT)}}) == wanted


@AT_EACH
@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
def test_each_entry_point_writes_one_spelling(
    process: Runtime, org: UUID, database: Connection, enqueue: EntryPoint, spelling: str
) -> None:
    """The unique key is the Python class's own, so that a second job of any entry point finds the first."""
    job_id = enqueue(process, org, {"payload": {"account_id": spelling}})
    with process.database.ledger() as tx:
        plain = enqueue_jobs(tx, [sync.payload(account_id=ACCOUNT).job(org_id=org)])[0]
    row = database.execute("select payload, payload_version, serial_key from jobs where id = %s", (job_id,)).fetchone()
    document = {"account_id": str(ACCOUNT), "history_id": None, "force_full": False, "reason": "admin"}
    assert row == (document, 1, f"gmail.sync:{org}:{ACCOUNT}")
    if enqueue is not celery:  # whose contract has a key of its own, which comes before the type's
        assert plain.job_id == job_id


@AT_EACH
def test_each_entry_point_writes_digits_as_a_number(
    process: Runtime, org: UUID, database: Connection, enqueue: EntryPoint
) -> None:
    """Gmail's 64-bit numbers come as text, too."""
    job_id = enqueue(process, org, {"payload": GOOD | {"history_id": str(2**64 - 1)}})
    row = database.execute("select payload -> 'history_id' from jobs where id = %s", (job_id,)).fetchone()
    assert row == (2**64 - 1,)


def test_a_unique_field_that_is_missing_makes_no_shared_key(process: Runtime, org: UUID) -> None:
    """Of a type without a shape, or of a version that has no such field."""
    make_job_type(process.database, "probe.run", unique_mode="while_queued", unique_fields=("account_id",))
    with process.database.ledger() as tx:
        old = [NewJob("probe.run", org, {"account": name}) for name in ("ann", "bob", "ann")]
        ann, bob, again = enqueue_jobs(tx, old)
    assert (ann.job_id == again.job_id, ann.job_id == bob.job_id) == (True, False)


def shape(*required: str, **properties: Mapping[str, object]) -> JsonObject:
    """A payload's shape."""
    return shape_of({"properties": properties, "required": required, "additionalProperties": False})


def test_who_names_no_version_means_the_oldest(process: Runtime, org: UUID, database: Connection) -> None:
    """Whatever else fits: what a caller of the old shape means stays, through a deploy and a rollback."""
    number = {"type": "integer"}
    make_job_type(process.database, "probe.run", payload_version=1, payload_shape=shape("cents", cents=number))
    make_job_type(process.database, "probe.run", payload_version=2, payload_shape=shape("euros", euros=number))
    database.execute("select postroom.enqueue('probe.run', %s, %s)", (org, Jsonb({"cents": 100})))
    database.execute("select postroom.enqueue('probe.run', %s, %s, payload_version => 2)", (org, Jsonb({"euros": 1})))
    assert database.execute("select payload_version, payload from jobs order by 1").fetchall() == [
        (1, {"cents": 100}),
        (2, {"euros": 1}),
    ]
    with process.database.ledger() as tx, pytest.raises(Invalid, match=r"payload\.cents: "):
        enqueue_jobs(tx, [NewJob("probe.run", org, {})])
    with process.database.ledger() as tx, pytest.raises(Invalid, match=r"payload\.euros: "):
        enqueue_jobs(tx, [NewJob("probe.run", org, {"euros": 1})])


def test_an_older_worker_does_not_turn_the_catalogue_back(process: Runtime, database: Connection) -> None:
    make_job_type(process.database, "probe.run", payload_version=2, max_attempts=7)
    make_job_type(process.database, "probe.run", payload_version=1, max_attempts=3)
    row = database.execute(
        "select payload_version, max_attempts,"
        " (select array_agg(v order by v) from jsonb_object_keys(payload_shapes) v)"
        " from job_types where name = 'probe.run'"
    ).fetchone()
    assert row == (2, 7, ["1", "2"])


def test_an_id_names_one_job_of_one_org_and_type(process: Runtime, org: UUID, database: Connection) -> None:
    other, job_id = make_org(database), uuid4()
    mine = sync.payload(account_id=ACCOUNT).job(org_id=org)._replace(job_id=job_id)
    with process.database.ledger() as tx:
        assert enqueue_jobs(tx, [mine])[0].created
    with process.database.ledger() as tx:
        assert enqueue_jobs(tx, [mine])[0][:2] == (enqueue_jobs(tx, [mine])[0].hint, False)
    theirs = mine._replace(org_id=other)
    another_type = NewJob("gmail.renew_watch", org, GOOD, job_id=job_id)
    for taken in (theirs, another_type):
        with process.database.ledger() as tx, pytest.raises(Invalid, match="job_id: "):
            enqueue_jobs(tx, [taken])
    fresh = uuid4()
    pair = [one._replace(job_id=fresh) for one in (sync.payload(account_id=uuid4()).job(org_id=org), theirs)]
    with process.database.ledger() as tx, pytest.raises(Invalid, match="job_id: "):
        enqueue_jobs(tx, pair)
    with pytest.raises(Invalid, match="job_id: "):
        celery(process, other, {"payload": GOOD, "job_id": str(job_id)})
    assert database.execute("select id, org_id, job_type from jobs").fetchall() == [(job_id, org, "gmail.sync")]


def test_a_dead_letter_of_an_unknown_type_takes_nobodys_id(process: Runtime, org: UUID, database: Connection) -> None:
    job_id = uuid4()
    with process.database.ledger() as tx:
        enqueue_jobs(tx, [sync.payload(account_id=ACCOUNT).job(org_id=org)._replace(job_id=job_id)])
    asked = contract(org_id=str(make_org(database)), job_id=str(job_id), job_type="nobody.knows")
    with pytest.raises(Invalid, match="belongs to another job"):
        adopt(process, "nobody.knows", asked)
    assert database.execute("select field, reason from refused_messages").fetchall() == [
        ("job_id", "belongs to another job")
    ]


@pytest.mark.parametrize("priority", [100, -100])
def test_a_tenant_has_the_priorities_around_the_ordinary_one(
    process: Runtime, org: UUID, database: Connection, priority: int
) -> None:
    """Alone and in a batch; the fleet has all of them."""

    def jobs(count: int) -> list[NewJob]:
        accounts = [sync.payload(account_id=uuid4()) for _ in range(count)]
        return [one.job(org_id=org, priority=priority) for one in accounts]

    with process.database.tenant(org) as tx:
        mine = [made.job_id for made in (*enqueue_jobs(tx, jobs(1)), *enqueue_jobs(tx, jobs(2)))]
    with process.database.ledger() as fleet:
        enqueue_jobs(fleet, jobs(1))
        enqueue_jobs(fleet, jobs(2))
    given = database.execute(
        "select id = any(%s), array_agg(distinct priority::int) from jobs group by 1 order by 1", (mine,)
    ).fetchall()
    assert given == [(False, [priority]), (True, [priority // 10])]


def test_no_tenant_chooses_when_its_job_was_made(process: Runtime, org: UUID, database: Connection) -> None:
    job = sync.payload(account_id=ACCOUNT).job(org_id=org)._replace(created_at=datetime(2000, 1, 1, tzinfo=UTC))
    another = sync.payload(account_id=uuid4()).job(org_id=org)._replace(created_at=job.created_at)
    with process.database.tenant(org) as tx:
        enqueue_jobs(tx, [job])
        enqueue_jobs(tx, [another, another])
    row = database.execute("select count(*), bool_and(created_at > now() - interval '1 hour') from jobs").fetchone()
    assert row == (2, True)


def test_no_tenant_is_believed_about_its_payload(process: Runtime, org: UUID) -> None:
    unchecked = NewJob("gmail.sync", org, {"reason": "admin"}, payload_version=1, is_checked=True)
    with pytest.raises(Invalid, match=r"payload\.account_id: "), process.database.tenant(org) as tx:
        enqueue_jobs(tx, [unchecked])


def test_the_fleets_two_roles_may_enqueue_in_sql(database: Connection) -> None:
    granted = database.execute(
        "select array_agg(distinct g.grantee::regrole::text order by g.grantee::regrole::text)"
        " from pg_proc p cross join aclexplode(p.proacl) g where p.oid = 'postroom.enqueue'::regproc"
        " and g.grantee <> p.proowner"
    ).fetchone()
    assert granted == (["postroom_ledger", "postroom_tenant"],)


def test_the_shape_of_every_job_type_is_published(process: Runtime, database: Connection) -> None:
    assert process.settings
    shapes = database.execute("select name, payload_shapes -> payload_version::text -> 'closed' from job_types")
    assert {name for name, closed in shapes if closed is not True} == set()


@pytest.mark.parametrize("digits", ["1e20", "1e400", "1e5000"])
def test_a_number_that_no_mailbox_reaches_ends_its_job(
    process: Runtime, org: UUID, database: Connection, digits: str
) -> None:
    """JSON and PostgreSQL bound no number."""
    with process.database.ledger() as tx:
        enqueue = "select postroom.enqueue('gmail.sync', %(org)s, %(payload)s::jsonb) as id"
        payload = f'{{"account_id": "{ACCOUNT}", "history_id": {digits}}}'
        job_id = tx.raw(enqueue, {"org": org, "payload": payload})[0].id
    assert run_job(process, sync, job_id) == "dead"
    found = "select error ->> 'code', error ->> 'reason' from jobs where id = %s"
    row = database.execute(found, (job_id,)).fetchone()
    assert row is not None
    assert (row[0], row[1].partition(": ")[0]) == ("invalid", "payload.history_id")

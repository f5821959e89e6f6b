"""A person, or an org, is taken out of every table by one command; the fact stays, and so do everybody else's rows."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import pytest
from psycopg import Connection, connect

from commands.operations import AREAS
from domain.jobs.failures import ClaimLost, Gone, Invalid, Transient
from domain.jobs.job import Origin, State
from domain.jobs.lifecycle import Settlement
from domain.orgs.access.api_keys import NOISE, Role, make_key
from domain.orgs.privacy.erasure import Mark, MarkKind
from domain.planning.files.artifacts import place_of
from engine.runtime import Runtime
from operations.orgs.erasure import LONGEST_PATTERN, searches_for, tried_again
from providers.artifacts.obstore_store import ObstoreArtifacts
from storage.jobs import ledger
from storage.orgs.access import api_keys
from storage.orgs.access.api_keys import KeyOptions
from storage.postgres.execution import DatabaseError, RowLocked, StatementAborted
from tests.commands.calling import answer, refusal
from tests.domain.orgs.privacy.ways_to_write import ADDRESSES, NAMES, NUMBERS, full_width
from tests.doubles.factories import claim_one, enqueue_one, make_job_type
from tests.fleet.fleet import environment_of
from tests.house.reading import ROOT
from tests.operations.orgs.written_people import dump, lines_with, rows_of, write_everywhere
from tests.storage.postgres.row_makers import fill_every_table
from tests.waiting import eventually

USERS, ORGS = AREAS.users, AREAS.orgs
ADDRESS, NAME, PHONE = "anna.q@xn--schmidt-mller-4ob.example", "Zoë O'Schmidt-Weiß", "+491701234567"
ALL_WAYS = [
    way(text) for text, ways in ((ADDRESS, ADDRESSES), (NAME, NAMES), (PHONE, NUMBERS)) for way in ways.values()
]
LEFT = ["schmidt", full_width("schmidt"), "s\u200bc\u200bh", PHONE[3:], *(way(PHONE) for way in NUMBERS.values())]
"""What would be left of a spelling, or of some, that was not found."""
STAYS = {
    "budget_days",
    "budget_reservations",
    "org_budgets",
    "llm_calls",
    "org_hours",
    "audit_entries",
    "orgs",
    "artifacts",
    "gates",
}


@pytest.fixture
def org_id(process: Runtime, database: Connection) -> UUID:  # noqa: ARG001 - the commands need a process
    """An org with a row in every table."""
    made = uuid4()
    fill_every_table(database, made)
    return made


def make_person(database: Connection, org_id: UUID, *, owns_everything: bool) -> UUID:
    """The org's person, whose is what stands there; or a colleague, who has a telephone and is planned with."""
    query = "select id from users where org_id = %s"
    if owns_everything:
        (user_id,) = database.execute(query, (org_id,)).fetchone() or (None,)
        database.execute("update users set email = %s where id = %s", (ADDRESS, user_id))
        database.execute("delete from contact_points where user_id = %s and channel = 'email'", (user_id,))
    else:
        user_id = uuid4()
        database.execute("insert into users (id, org_id, email) values (%s, %s, %s)", (user_id, org_id, ADDRESS))
    database.execute(
        "insert into contact_points (org_id, user_id, channel, address) values (%s, %s, 'sms', %s)",
        (org_id, user_id, PHONE),
    )
    database.execute("update collaborators set name = %s, user_id = %s where org_id = %s", (NAME, user_id, org_id))
    return UUID(str(user_id))


def test_every_table_says_what_becomes_of_its_rows(database: Connection) -> None:
    tables = (
        "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')"
        " and relname <> 'alembic_version'"
    )
    assert set(database.execute(tables).fetchall()) == set(database.execute("select table_name from erasure_rules"))


@pytest.mark.parametrize("owns_everything", [True, False])
def test_a_dump_knows_a_person_no_more_but_the_fact(
    org_id: UUID, database: Connection, database_url: str, *, owns_everything: bool
) -> None:
    """Neither address nor name nor id, nor a telephone's number."""
    neighbour = uuid4()
    fill_every_table(database, neighbour)
    user_id = make_person(database, org_id, owns_everything=owns_everything)
    words = f"{NAME} <{ADDRESS}> {user_id} {PHONE} mailto:{ADDRESS.replace('@', '%40')}"
    written = write_everywhere(database, org_id, words)
    assert len(written) > 150
    lines = f"\n{ADDRESS}\t{NAME.replace(' ', chr(10))}"
    written = write_everywhere(database, org_id, f"{lines} {json.dumps(lines)}")
    assert ("workflow_definitions", "document") in written
    everything = " | ".join(ALL_WAYS)
    assert len(write_everywhere(database, org_id, f"{everything} {json.dumps(everything)}")) > 50
    before, own = rows_of(database, neighbour), rows_of(database, org_id)
    said = answer(USERS, "erase", ADDRESS, "--reason", f"{NAME} asked for it")
    assert lines_with(dump(database_url), [ADDRESS, str(user_id), *map(str.lower, LEFT)]) == []
    assert rows_of(database, neighbour) == before
    after = rows_of(database, org_id)
    # Of somebody else's mail nothing goes but what is known by the person's address.
    assert bool(after["messages"]) is not owns_everything
    assert after["suppressions"] == own["suppressions"]
    facts = database.execute("select data from audit_log where event = 'user.erased' and org_id = %s", (org_id,))
    assert [data["reason"] for (data,) in facts] == ["erased asked for it"]
    for named in (ADDRESS, user_id):
        assert answer(USERS, "erase", named, "--reason", "again") == said


def test_a_dump_knows_an_org_no_more_but_ids(org_id: UUID, database: Connection, database_url: str) -> None:
    """The org's id stands where money and audit entries do; a neighbour's rows are the same, byte for byte."""
    neighbour = uuid4()
    fill_every_table(database, neighbour)
    user_id = make_person(database, org_id, owns_everything=True)
    write_everywhere(database, org_id, f"Quillmark {ADDRESS}")
    database.execute("update orgs set name = 'Quillmark Ltd' where id = %s", (org_id,))
    before = rows_of(database, neighbour)
    said = answer(ORGS, "erase", "Quillmark Ltd", "--reason", "Quillmark Ltd has left")
    assert lines_with(dump(database_url), [ADDRESS, "quillmark", str(user_id), PHONE[1:]]) == []
    assert rows_of(database, neighbour) == before
    left = {table for table, rows in rows_of(database, org_id).items() if rows}
    assert left <= STAYS, "of an org stay ids, for the audit log and the money"
    assert answer(ORGS, "erase", org_id, "--reason", "again") == said


def test_an_erased_org_takes_nothing_in(org_id: UUID, process: Runtime, database: Connection) -> None:
    key = make_key(bytes(NOISE))
    with process.database.ledger() as tx:
        api_keys.create(tx, org_id, key, KeyOptions("service", Role.OPERATOR), by=Origin())
    answer(ORGS, "erase", org_id, "--reason", "it has left")
    with process.database.ledger() as tx:
        assert api_keys.find(tx, key.text) is None
    for ask in (
        "select postroom.enqueue('probe.run', %(org)s)",
        "insert into users (org_id, email) values (%(org)s, 'new@example.com')",
    ):
        with pytest.raises(DatabaseError, match="org_id: names an org that is erased"):
            database.execute(ask.encode(), {"org": org_id})
    assert "there is no org" in refusal(ORGS, "set", "--org", str(org_id), "--weight", "2")


def test_a_worker_that_holds_a_job_of_theirs_can_write_nothing_more(
    org_id: UUID, process: Runtime, database: Connection
) -> None:
    make_job_type(process.database)
    user_id = make_person(database, org_id, owns_everything=False)
    held = claim_one(process.database, enqueue_one(process.database, org_id, payload={"user_id": str(user_id)}))
    answer(USERS, "erase", user_id, "--reason", "they asked")
    with pytest.raises(ClaimLost), process.database.claimed(org_id, held.job_id, held.token):
        pass
    ends = database.execute("select event from audit_log where job_id = %s order by id", (held.job_id,)).fetchall()
    assert ends[-1] == ("job.canceled",)


def test_what_a_job_of_somebody_else_writes_meanwhile_goes_too(
    org_id: UUID, process: Runtime, database: Connection
) -> None:
    """It has read of the person before, and ends after all tables were gone through."""
    make_job_type(process.database)
    make_person(database, org_id, owns_everything=False)
    held = claim_one(process.database, enqueue_one(process.database, org_id))
    with ThreadPoolExecutor(1) as threads:
        erasing = threads.submit(answer, USERS, "erase", ADDRESS, "--reason", "they asked")
        gone = "select count(*) from users where email = %s"
        eventually(
            lambda: database.execute(gone, (ADDRESS,)).fetchone() == (0,), within=60, describe="the person is erased"
        )
        assert not erasing.done()
        with process.database.ledger() as tx:
            ledger.settle(tx, [Settlement(held.job_id, held.token, State.SUCCEEDED, output={"met": ADDRESS})])
        assert erasing.result(timeout=60)["finished_at"]
    assert database.execute("select output from jobs where id = %s", (held.job_id,)).fetchone() == (
        {"met": "x@x.invalid"},
    )


def test_what_a_transaction_of_no_job_has_written_goes_too(
    org_id: UUID, database: Connection, database_url: str
) -> None:
    """A request's, or a service's own: it has begun before, and commits after all tables were gone through."""
    make_person(database, org_id, owns_everything=False)
    words = "insert into email_orders (org_id, words) values (%s, jsonb_build_object('met', %s::text)) returning id"
    with ThreadPoolExecutor(1) as threads, connect(database_url) as request:
        (order,) = request.execute(words, (org_id, ADDRESS)).fetchone() or (None,)
        erasing = threads.submit(answer, USERS, "erase", ADDRESS, "--reason", "they asked")
        gone = "select count(*) from users where email = %s"
        eventually(
            lambda: database.execute(gone, (ADDRESS,)).fetchone() == (0,), within=60, describe="the person is erased"
        )
        assert not erasing.done()
        request.commit()
        assert erasing.result(timeout=60)["finished_at"]
    left = database.execute("select words from email_orders where id = %s", (order,)).fetchone()
    assert left == ({"met": "x@x.invalid"},)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (RowLocked("LockNotAvailable"), "somebody has locked a row"),
        (StatementAborted("QueryCanceled"), "QueryCanceled"),
    ],
)
def test_what_is_locked_or_takes_too_long_is_said_with_its_table(error: StatementAborted, why: str) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(Transient, match=f"messages: .*{why}; ask for the erasure again, and it goes on"):
        tried_again(fail, "messages", within_s=0)


def test_many_addresses_are_searched_for_by_several_patterns_of_bounded_length() -> None:
    """PostgreSQL reads one of all addresses in minutes, or never. What is within a longer mark is found after it."""
    addresses = [f"{'abcdefghij'[n] * 2}@{ADDRESS.partition('@')[2]}" for n in range(10)]
    marks = [Mark(MarkKind.ADDRESS, one) for one in addresses]
    searches = searches_for([*marks, Mark(MarkKind.NAME, "Aa Schmidt")], [])
    assert 1 < len(searches) < len(marks)
    assert all(len(one.loose) <= LONGEST_PATTERN for one in searches)
    assert [len(one.patterns) for one in searches_for(marks[:1], [])] == [1]
    text = " ".join(addresses)
    for search in searches:
        text = search.without(text)
    assert text == " ".join(["x@x.invalid"] * len(addresses))
    with pytest.raises(Invalid, match="name: is too long to be looked for: 900 letters"):
        searches_for([Mark(MarkKind.NAME, "Löffel" * 150)], [])


def test_the_bytes_of_their_files_go(org_id: UUID, process: Runtime, database: Connection) -> None:
    """Of those that are made of a project in which they are planned, and not of what somebody has uploaded."""
    make_person(database, org_id, owns_everything=False)
    store = ObstoreArtifacts(process.settings.artifacts_url)
    rows = database.execute("select id, project_id from artifacts where org_id = %s", (org_id,)).fetchall()
    ((upload, project_id),) = rows
    made = uuid4()
    database.execute("update artifacts set expires_at = now() + interval '1 day'")
    database.execute(
        "insert into artifacts (id, org_id, project_id, kind, name, media_type, size, sha256, expires_at)"
        " select %s, org_id, %s, 'project_plan', 'plan.csv', media_type, size, sha256, expires_at from artifacts",
        (made, project_id),
    )
    for one in (upload, made):
        store.put(place_of(org_id, one), [b"x"])
    assert answer(USERS, "erase", ADDRESS, "--reason", "they asked")["files"] == 1
    assert store.read(place_of(org_id, upload), 0, 1) == b"x"
    with pytest.raises(Gone):
        store.read(place_of(org_id, made), 0, 1)


def test_a_second_run_goes_on_where_a_killed_one_was(
    org_id: UUID, process: Runtime, database: Connection, database_url: str
) -> None:
    """The first one is killed while it waits for a row that somebody has locked, with half of the tables behind it."""
    make_person(database, org_id, owns_everything=True)
    database.execute("update messages set subject = %s where org_id = %s", (f"To {NAME}", org_id))

    def left(table: str) -> bool:
        return database.execute(f"select from {table} where org_id = %s".encode(), (org_id,)).fetchone() is not None

    words = [sys.executable, "-m", "celery", "-A", "tasks", "users", "erase", ADDRESS, "--reason", "they asked"]
    with (
        connect(database_url) as holder,
        subprocess.Popen(words, cwd=ROOT, env=environment_of(process.settings)) as running,  # noqa: S603 - our own command
    ):
        holder.execute("select from threads for update")
        eventually(lambda: not left("messages") or running.poll(), within=60, describe="the erasure has begun")
        running.kill()
    assert left("threads")
    assert "is being erased" in refusal(USERS, "set", ADDRESS, "--org", str(org_id), "--role", "admin")
    answer(USERS, "erase", ADDRESS, "--reason", "they asked")
    assert not left("threads")
    assert lines_with(dump(database_url), [ADDRESS, NAME.lower()]) == []


def test_a_colleague_whose_address_has_a_part_behind_a_plus_sign_stays(org_id: UUID, database: Connection) -> None:
    """So does their open mailbox with its mail, and what texts say of it; a part that is nobody's goes."""
    user_id = make_person(database, org_id, owns_everything=False)
    local, domain = ADDRESS.split("@")
    plus = f"{local}+team@{domain}"
    database.execute("update users set email = %s where org_id = %s and id <> %s", (plus, org_id, user_id))
    database.execute("update accounts set email = %s where org_id = %s", (plus, org_id))
    subject = f"{plus} {local}%2Bx {local}+news@{domain}"
    database.execute("update messages set subject = %s where org_id = %s", (subject, org_id))
    before = {table: rows_of(database, org_id)[table] for table in ("accounts", "threads")}
    assert answer(USERS, "erase", ADDRESS, "--reason", "they left")["finished_at"]
    after = rows_of(database, org_id)
    assert {table: after[table] for table in before} == before
    assert database.execute("select email from users where org_id = %s", (org_id,)).fetchall() == [(plus,)]
    subjects = database.execute("select distinct subject from messages where org_id = %s", (org_id,)).fetchall()
    assert subjects == [(f"{plus} {local}%2Bx x@x.invalid",)]


def test_a_row_that_cannot_go_is_named(org_id: UUID, database: Connection) -> None:
    """The key of somebody else's thread has the address, and messages refer to it."""
    make_person(database, org_id, owns_everything=False)
    database.execute(
        "insert into threads (org_id, account_id, gmail_thread_id, first_message_at, last_message_at)"
        " select org_id, id, %s, now(), now() from accounts where org_id = %s",
        (ADDRESS, org_id),
    )
    database.execute("update messages set gmail_thread_id = %s where org_id = %s", (ADDRESS, org_id))
    said = refusal(USERS, "erase", ADDRESS, "--reason", "they asked")
    assert "erasure.blocked" in said
    assert "messages" in said
    assert ADDRESS not in said


@pytest.mark.parametrize("confirmed", [(), ("--name", "Will")])
@pytest.mark.parametrize("name", ["Will", "Will Power"])
def test_work_that_has_a_planned_name_in_it_stays(
    org_id: UUID, process: Runtime, database: Connection, name: str, confirmed: tuple[str, ...]
) -> None:
    """Two words are taken out of it, and a single one where somebody says that it is a name."""
    make_job_type(process.database)
    make_person(database, org_id, owns_everything=False)
    database.execute("update collaborators set name = %s where org_id = %s", (name, org_id))
    database.execute("update schedules set name = %s where org_id = %s", (f"when {name} comes", org_id))
    live = enqueue_one(process.database, org_id, payload={"note": f"When {name} comes"})
    answer(USERS, "erase", ADDRESS, "--reason", "they asked", *confirmed)
    taken = confirmed or " " in name
    left = "erased"[: len(name)] if taken else name
    payloads = database.execute("select state, payload from jobs where id = %s", (live,)).fetchall()
    assert payloads == [("queued", {"note": f"When {left} comes"})]
    schedules = database.execute("select name from schedules where org_id = %s", (org_id,)).fetchall()
    assert schedules == [(f"when {left} comes",)]

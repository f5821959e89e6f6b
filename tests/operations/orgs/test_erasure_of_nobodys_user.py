"""Somebody who is no user of an org, or was one, is erased by an address; the rest is as for a user."""

from uuid import UUID

import pytest
from psycopg import Connection

from commands.operations import AREAS
from engine.runtime import Runtime
from tests.commands.calling import answer, refusal
from tests.doubles.factories import enqueue_one, make_job_type, make_org
from tests.operations.orgs.written_people import dump, lines_with

USERS = AREAS.users
ADDRESS, NAME = "zoe@example.org", "Zoë Quill"


@pytest.fixture
def org_id(process: Runtime, database: Connection) -> UUID:
    """An org whose jobs have met the person."""
    make_job_type(process.database)
    made = make_org(database, "an org")
    write(database, made)
    return made


def write(database: Connection, org_id: UUID) -> None:
    database.execute(
        "insert into email_orders (org_id, words) values (%s, jsonb_build_object('to', %s::text, 'text', %s::text))",
        (org_id, ADDRESS, f"Dear {NAME}"),
    )


def test_a_correspondent_goes_with_what_is_about_them(
    org_id: UUID, process: Runtime, database: Connection, database_url: str
) -> None:
    live = enqueue_one(process.database, org_id, payload={"to": ADDRESS})
    done = answer(USERS, "erase", "Zoe@Example.org", "--org", "an org", "--name", NAME, "--reason", f"{NAME} asked")
    assert done["finished_at"]
    assert lines_with(dump(database_url), [ADDRESS, NAME.lower()]) == []
    assert database.execute("select state from jobs where id = %s", (live,)).fetchone() == ("canceled",)
    # Without the org's name nobody new is meant.
    assert answer(USERS, "erase", ADDRESS, "--reason", "again") == done


def test_who_writes_again_is_erased_again(org_id: UUID, database: Connection, database_url: str) -> None:
    given = ("erase", ADDRESS, "--org", "an org", "--name", NAME, "--reason", "they asked")
    first = answer(USERS, *given)
    write(database, org_id)
    assert answer(USERS, *given)["erasure_id"] != first["erasure_id"]
    assert lines_with(dump(database_url), [ADDRESS, NAME.lower()]) == []


def test_an_erased_user_s_id_is_known_as_done(org_id: UUID) -> None:
    user_id = answer(USERS, "add", ADDRESS, "--org", org_id)["user_id"]
    done = answer(USERS, "erase", user_id, "--org", org_id, "--reason", "they asked")
    assert answer(USERS, "erase", user_id, "--org", org_id, "--reason", "again") == done


def test_a_removed_user_goes_by_address_and_by_id(org_id: UUID, database: Connection, database_url: str) -> None:
    removed = answer(USERS, "add", ADDRESS, "--org", "an org")["user_id"]
    answer(USERS, "remove", ADDRESS, "--org", "an org")
    database.execute("update email_orders set words = words || jsonb_build_object('by', %s::text)", (removed,))
    done = [
        answer(USERS, "erase", named, "--org", org_id, "--name", NAME, "--reason", "they asked")
        for named in (ADDRESS, removed.upper())
    ]
    assert all(one["rows"] for one in done)
    assert answer(USERS, "erase", removed, "--org", org_id, "--reason", "again") == done[1]
    assert lines_with(dump(database_url), [ADDRESS, NAME.lower(), removed]) == []


@pytest.mark.parametrize(
    ("named", "org", "words"),
    [
        (ADDRESS, (), "nobody has the address or id"),
        ("zoe at example", ("--org", "an org"), "user: "),
        ("0b8f7a52-6d0e-4d53-9a66-2f3f8f1c7a11", ("--org", "an org"), "user: "),
        ("Private@Bob.example", ("--org", "an org"), "is an address of a user of the org"),
    ],
)
@pytest.mark.usefixtures("org_id")
def test_whom_nobody_can_mean_is_refused(database: Connection, named: str, org: tuple[str, ...], words: str) -> None:
    database.execute(
        "with bob as (insert into users (org_id, email) select id, 'bob@example.org' from orgs where name = 'an org'"
        " returning org_id, id) insert into contact_points (org_id, user_id, channel, address)"
        " select org_id, id, 'email', 'private@bob.example' from bob"
    )
    assert words in refusal(USERS, "erase", named, *org, "--reason", "they asked")
    assert database.execute("select from erasures").fetchall() == []

"""What an erasure reaches beside a person's own rows: gates, reasons, files and the planner's statistics."""

from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from commands.operations import AREAS
from domain.jobs.failures import Gone
from domain.jobs.job import SYSTEM_ORG
from domain.planning.files.artifacts import place_of
from engine.runtime import Runtime
from providers.artifacts.obstore_store import ObstoreArtifacts
from tests.commands.calling import answer
from tests.doubles.factories import make_org
from tests.operations.orgs.written_people import dump, lines_with
from tests.storage.postgres.row_makers import fill_every_table

USERS, ORGS, GATES = AREAS.users, AREAS.orgs, AREAS.gates
ADDRESS, NAME = "zoe@example.org", "Zoë Quill"
WORDS = f"{NAME} <{ADDRESS}> asked"


def make_user(database: Connection, org_id: UUID, address: str = ADDRESS) -> UUID:
    query = "insert into users (org_id, email) values (%s, %s) returning id"
    (made,) = database.execute(query, (org_id, address)).fetchone() or (None,)
    return UUID(str(made))


def make_account(database: Connection, org_id: UUID, user_id: UUID, address: str) -> UUID:
    query = (
        "insert into accounts (org_id, user_id, email, status, status_reason)"
        " values (%s, %s, %s, 'needs_reconsent', 'x') returning id"
    )
    (made,) = database.execute(query, (org_id, user_id, address)).fetchone() or (None,)
    return UUID(str(made))


def erase(named: object = ADDRESS, *more: str) -> None:
    answer(USERS, "erase", named, "--reason", "they asked", "--name", NAME, *more)


@pytest.mark.usefixtures("process")
def test_gates_of_the_org_and_of_its_mailboxes_lose_the_person(database: Connection, database_url: str) -> None:
    """What closed them, and what the log says of it; those of another org stay."""
    org_id, other = make_org(database, "an org"), make_org(database, "another org")
    bob = make_user(database, org_id, "bob@example.org")
    account = make_account(database, org_id, bob, "bob@example.org")
    hers = make_account(database, org_id, make_user(database, org_id), ADDRESS)
    for scope, key in [("org", org_id), ("org_provider", f"{org_id}:gmail"), ("account", account), ("account", hers)]:
        answer(GATES, "close", scope, key, "--reason", WORDS, "--as", NAME)
    answer(GATES, "close", "org", other, "--reason", "another matter")
    erase()
    assert lines_with(dump(database_url), [ADDRESS, NAME.lower()]) == []
    left = {(one["key"], one["reason"]) for one in answer(GATES, "list")}
    erased = "erased <x@x.invalid> asked"
    assert left == {
        (str(org_id), erased),
        (f"{org_id}:gmail", erased),
        (str(account), erased),
        (str(other), "another matter"),
    }


@pytest.mark.usefixtures("process")
def test_gates_of_the_fleet_lose_who_is_erased_from_the_system_org(database: Connection, database_url: str) -> None:
    org_id = make_org(database)
    answer(GATES, "close", "queue", "default", "--reason", WORDS, "--as", NAME)
    answer(GATES, "close", "org", org_id, "--reason", WORDS)
    erase(ADDRESS, "--org", str(SYSTEM_ORG))
    assert {line.split(":")[0] for line in lines_with(dump(database_url), [ADDRESS])} == {
        "public.audit_entries",
        "public.gates",
    }
    assert [one["reason"] for one in answer(GATES, "list")] == [WORDS, "erased <x@x.invalid> asked"]
    erase(ADDRESS, "--org", str(org_id))
    assert lines_with(dump(database_url), [ADDRESS, NAME.lower()]) == []


@pytest.mark.usefixtures("process")
@pytest.mark.parametrize("finished", [True, False])
def test_the_reason_of_another_erasure_loses_the_person(database: Connection, *, finished: bool) -> None:
    """One that is under way goes on all the same."""
    org_id = make_org(database)
    make_user(database, org_id)
    make_user(database, org_id, "bob@example.org")
    answer(USERS, "erase", "bob@example.org", "--reason", "he asked")
    if finished:
        database.execute("update erasures set reason = %s", (WORDS,))
    else:
        marks = '[{"kind": "address", "text": "bob@example.org", "key": "bob@example.org"}]'
        database.execute(
            "update erasures set reason = %s, finished_at = null, person_id = gen_random_uuid(), marks = %s,"
            " accounts = '{}', addresses = '{bob@example.org}', ids = 'x'",
            (WORDS, marks),
        )
    erase()
    reasons = {reason for (reason,) in database.execute("select reason from erasures")}
    assert reasons == {"erased <x@x.invalid> asked", "they asked"}
    assert answer(USERS, "erase", "bob@example.org", "--reason", "again")["finished_at"]


@pytest.mark.usefixtures("process")
def test_an_erased_org_keeps_nobody_whose_erasure_was_cut_off(database: Connection, database_url: str) -> None:
    org_id = make_org(database)
    database.execute(
        "insert into erasures (org_id, subject, person_id, marks, accounts, addresses, ids, reason, begun_by)"
        " values (%s, 'user', gen_random_uuid(), jsonb_build_array(%s::text), '{}', array[%s], 'x', %s, 'x')",
        (org_id, NAME, ADDRESS, WORDS),
    )
    answer(ORGS, "erase", org_id, "--reason", "it has left")
    assert lines_with(dump(database_url), [ADDRESS, NAME.lower()]) == []


@pytest.mark.parametrize("is_exported_meanwhile", [False, True])
def test_files_of_a_project_go_in_which_somebody_is_planned_by_name_alone(
    process: Runtime, database: Connection, *, is_exported_meanwhile: bool
) -> None:
    """So does one that is made after the name went; those of a project of others stay."""
    org_id, store = uuid4(), ObstoreArtifacts(process.settings.artifacts_url)
    fill_every_table(database, org_id)
    (mine,) = database.execute("select project_id from collaborators where org_id = %s", (org_id,)).fetchone() or (
        None,
    )
    insert = "insert into projects (org_id, name) values (%s, 'of others') returning id"
    (others,) = database.execute(insert, (org_id,)).fetchone() or (None,)
    database.execute("update collaborators set name = %s where org_id = %s", (f"{NAME} (lights)", org_id))
    files = {}
    for project in (mine, others):
        files[project] = uuid4()
        store.put(place_of(org_id, files[project]), [NAME.encode()])
        database.execute(
            "insert into artifacts (id, org_id, project_id, kind, name, media_type, size, sha256, expires_at,"
            " created_at) values (%s, %s, %s, 'project_plan', 'plan.csv', 'text/csv', 1, repeat('0', 64),"
            " now() + interval '1 day', now() + %s * interval '1 hour')",
            (files[project], org_id, project, int(is_exported_meanwhile)),
        )
    if is_exported_meanwhile:
        database.execute("update collaborators set name = 'erased (lights)' where org_id = %s", (org_id,))
    make_user(database, org_id)
    erase()
    with pytest.raises(Gone):
        store.read(place_of(org_id, files[mine]), 0, 1)
    assert store.read(place_of(org_id, files[others]), 0, len(NAME.encode())) == NAME.encode()


@pytest.mark.usefixtures("process")
@pytest.mark.parametrize("erased", ["user", "org"])
def test_the_planner_forgets_what_it_has_counted(database: Connection, erased: str) -> None:
    """Also of a table that has no row any more."""
    org_id = make_org(database, NAME)
    user_id = make_user(database, org_id)
    account = make_account(database, org_id, user_id, ADDRESS)
    database.execute(
        "insert into correspondents (org_id, account_id, address, heard_at)"
        " select %s, %s, 'x' || n || %s, now() from generate_series(1, 9) n",
        (org_id, account, ADDRESS),
    )
    database.execute("analyze users, accounts, correspondents, orgs")
    known = (
        "select tablename from pg_stats where schemaname = 'public'"
        " and concat_ws(' ', most_common_vals, histogram_bounds) ~ %s"
    )
    assert len(database.execute(known, (ADDRESS,)).fetchall()) > 0
    if erased == "org":
        answer(ORGS, "erase", org_id, "--reason", "it has left")
    else:
        erase()
    assert database.execute(known, (f"{ADDRESS}|{NAME}",)).fetchall() == []

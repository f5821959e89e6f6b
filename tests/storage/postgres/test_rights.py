"""Exactly what each role may do, walked through the catalogue and compared with a checked-in table.

A new table, column, function or right is a line that is not in `rights.txt`. Write the file anew by
`python -m tests.storage.postgres.rights_table`, and read what changed.
"""

import pytest
from psycopg import Connection

from tests.storage.postgres.rights_table import RIGHTS, read_rights


def test_each_role_may_do_what_the_table_says_and_nothing_else(database: Connection) -> None:
    expected = RIGHTS.read_text(encoding="utf-8").splitlines()
    found = read_rights(database)
    assert [line for line in found if line not in expected] == [], "rights that nobody has listed"
    assert [line for line in expected if line not in found] == [], "rights that are listed and gone"
    assert found == expected


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ("create table leaky (secret text); grant select on leaky to postroom_tenant", "table leaky | select"),
        ("alter table jobs add column leaky text; grant select (leaky) on jobs to postroom_tenant", "leaky"),
        (
            "create function postroom.leaky() returns int language sql security definer as 'select 1'",
            "definer | postroom.leaky() | as the owner | no search_path",
        ),
        ("grant update on accounts to postroom_tenant", "postroom_tenant | table accounts | select, update"),
        ("grant execute on function pg_cancel_backend(integer) to public", "pg_cancel_backend(integer) | execute"),
        (
            "create policy all_of_it on accounts using (true)",
            "policy | accounts.all_of_it | all to public | using true",
        ),
        ("alter table accounts disable row level security", "row-level security | accounts | off"),
        ("alter default privileges grant select on tables to postroom_tenant", "new tables | select"),
        ("grant usage on language plpgsql to public", "public | language plpgsql | usage"),
    ],
)
def test_a_right_that_nobody_has_listed_is_seen(database: Connection, change: str, line: str) -> None:
    before = set(read_rights(database))
    database.execute(change.encode())
    assert any(line in found for found in set(read_rights(database)) - before)


def test_the_listing_is_not_empty() -> None:
    assert len(RIGHTS.read_text(encoding="utf-8").splitlines()) > 100

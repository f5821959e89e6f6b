"""A migrated database has the functions of the files, each once, and the files may be run again."""

from collections import Counter

import pytest
from psycopg import Connection

from storage.postgres.functions import FUNCTIONS, definitions, find_differences

FACTS = """
select p.oid::regprocedure::text, p.prosrc, p.prokind, p.prosecdef, p.provolatile, p.proisstrict, p.proparallel,
  p.proconfig, pg_get_function_result(p.oid), p.proowner::regrole::text,
  array(select a::text from unnest(p.proacl) as a order by 1)
from pg_proc p where p.pronamespace = 'postroom'::regnamespace
union all
select t.tgname, pg_get_triggerdef(t.oid), 't', false, 'v', false, 'u', null, null, t.tgfoid::regproc::text, null
from pg_trigger t where not t.tgisinternal
order by 1"""
"""All that a file says of its functions and of the triggers that call them."""


def test_each_function_stands_in_one_file() -> None:
    assert [name for name, times in Counter(one.name for one in definitions()).items() if times > 1] == []
    written = "\n".join(path.read_text() for path in FUNCTIONS.glob("*.sql"))
    assert len(definitions()) == written.count("\ncreate ") - written.count("\ncreate or replace trigger ")


def test_a_migrated_database_has_the_functions_of_the_files(database: Connection) -> None:
    bodies = "select proname, prosrc from pg_proc where pronamespace = 'postroom'::regnamespace"
    assert find_differences(dict(database.execute(bodies).fetchall())) == ()


def test_the_files_may_be_run_again_and_change_nothing(database: Connection) -> None:
    """So what a migration creates anew has the settings, the rights and the triggers of a fresh database."""
    before = database.execute(FACTS).fetchall()
    for path in sorted(FUNCTIONS.glob("*.sql")):
        database.execute(path.read_text().encode())
    assert database.execute(FACTS).fetchall() == before


@pytest.mark.parametrize(
    ("bodies", "found"),
    [({"fence_table": "begin end"}, "fence_table (tenancy.sql)"), ({"left_over": ""}, "left_over (in no file)")],
)
def test_a_function_that_differs_is_named_with_its_file(bodies: dict[str, str], found: str) -> None:
    as_released = {one.name: one.body for one in definitions()}
    assert find_differences(as_released) == ()
    assert find_differences(as_released | bodies) == (found,)

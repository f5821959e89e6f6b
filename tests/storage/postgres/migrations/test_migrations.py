"""The migrations form one line; of several migrators each finds the work done."""

from concurrent.futures import ThreadPoolExecutor

from alembic.script import ScriptDirectory
from psycopg import Connection, connect
from pydantic import SecretStr

from settings import Settings
from storage.postgres.functions import FUNCTIONS
from storage.postgres.migrate import MIGRATIONS, upgrade
from storage.postgres.readiness import newest_revision


def test_the_newest_revision_is_the_last_of_the_line() -> None:
    assert ScriptDirectory(str(MIGRATIONS)).get_heads() == [newest_revision()]


def test_the_line_of_revisions_is_numbered_without_a_gap() -> None:
    script = ScriptDirectory(str(MIGRATIONS))
    revisions = [revision.revision for revision in script.walk_revisions()][::-1]
    assert [int(name[:4]) for name in revisions] == list(range(1, len(revisions) + 1))
    assert all(name[5:].startswith(("pre_", "post_")) for name in revisions), "say when it is safe: pre or post"


def test_every_sql_file_belongs_to_a_migration() -> None:
    written = "".join(path.read_text() for path in (MIGRATIONS / "versions").glob("*.py"))
    files = [*(MIGRATIONS / "sql").glob("*.sql"), *FUNCTIONS.glob("*.sql")]
    assert [path.stem for path in files if f'"{path.stem}"' not in written] == []


def test_upgrading_twice_changes_nothing(database: Connection, settings: Settings) -> None:
    shape = (
        "select table_name, column_name, data_type from information_schema.columns"
        " where table_schema = 'public' order by 1, 2"
    )
    before = database.execute(shape).fetchall()
    upgrade(settings)
    assert database.execute(shape).fetchall() == before
    assert database.execute("select version_num from alembic_version").fetchall() == [(newest_revision(),)]


def test_of_several_migrators_at_once_each_finds_the_work_done(empty_database_url: str) -> None:
    """As the pods of a deployment start: they collided on the first table."""
    settings = Settings(database_url=SecretStr(empty_database_url))
    with ThreadPoolExecutor(3) as threads:
        for done in [threads.submit(upgrade, settings) for _ in range(3)]:
            done.result(timeout=60)
    with connect(empty_database_url) as owner:
        assert owner.execute("select count(*) from alembic_version").fetchone() == (1,)


def test_no_check_calls_a_function_in_sql(database: Connection) -> None:
    """PostgreSQL makes a check ready anew in each statement that writes, and would read such a function each time."""
    query = (
        "select c.conname, p.proname from pg_constraint c"
        " join pg_depend d on d.classid = 'pg_constraint'::regclass and d.objid = c.oid"
        " join pg_proc p on d.refclassid = 'pg_proc'::regclass and p.oid = d.refobjid"
        " join pg_language l on l.oid = p.prolang"
        " where c.contype = 'c' and l.lanname = %s order by 1"
    )
    assert database.execute(query, ("sql",)).fetchall() == []
    assert {name for _, name in database.execute(query, ("plpgsql",))} >= {"carries_secret", "refuse_secret"}

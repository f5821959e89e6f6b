"""Runs the SQL files of a migration, in the order it names them, and builds indexes beside running fleets."""

from pathlib import Path

from alembic import op
from sqlalchemy import text

from storage.postgres.functions import FUNCTIONS
from storage.postgres.migrate import LOCK_WAIT

TABLES = Path(__file__).parent / "sql"


def run_files(*names: str) -> None:
    """Run files of `storage/migrations/sql` in the migration's transaction."""
    _run(TABLES, names)


def files_besides(prefix: str, *names: str) -> list[str]:
    """The files of a migration but these, in the order of their names: tables to which no other area refers."""
    return sorted({path.stem for path in TABLES.glob(f"{prefix}_*.sql")} - set(names))


def create_functions(*areas: str) -> None:
    """Create the functions of areas anew, by their files in `storage/functions`, as they stand in this release.

    A function whose parameters or result have changed, or that is gone, is dropped by the migration first.
    """
    _run(FUNCTIONS, areas)


def _run(folder: Path, names: tuple[str, ...]) -> None:
    """Run files as they stand: no parameters, so a percent sign is one."""
    connection = op.get_bind()
    raw = connection.connection.driver_connection
    if raw is None:
        raise RuntimeError("the connection was closed during a migration")
    for name in names:
        raw.execute((folder / f"{name}.sql").read_text(encoding="utf-8"))


def build_index(name: str, definition: str, *, unique: bool = False) -> None:
    """Build an index without keeping writers out, as `create index <name> <definition>`.

    PostgreSQL cannot do that in a transaction: what the migration did before is committed. A build that was broken off
    leaves an index that is not valid; it is dropped and built anew, so that the migration can be repeated.
    """
    with op.get_context().autocommit_block():
        connection = op.get_bind()
        # It keeps nobody waiting, and waits itself for every transaction that is older.
        connection.execute(text("set lock_timeout = 0"))
        broken = "select from pg_index where indexrelid = to_regclass(:name) and not indisvalid"
        if connection.execute(text(broken), {"name": name}).first() is not None:
            connection.execute(text(f"drop index concurrently {name}"))
        kind = "unique index" if unique else "index"
        connection.execute(text(f"create {kind} concurrently if not exists {name} {definition}"))
        connection.execute(text(f"set lock_timeout = '{LOCK_WAIT}'"))

"""Runs the SQL files of a migration, in the order it names them."""

from pathlib import Path

from alembic import op

FOLDER = Path(__file__).parent / "sql"


def run_files(*names: str) -> None:
    """Run SQL files in the migration's transaction, as they stand: no parameters, so a percent sign is one."""
    connection = op.get_bind()
    raw = connection.connection.driver_connection
    if raw is None:
        raise RuntimeError("the connection was closed during a migration")
    for name in names:
        raw.execute((FOLDER / f"{name}.sql").read_text(encoding="utf-8"))

"""Tables that rows leave as fast as they come: vacuumed in time, and never shortened under load."""

from storage.migrations.statements import run_files

revision = "0010_pre_leaving"
down_revision = "0009_pre_waiting"


def upgrade() -> None:
    """Set how the tables are vacuumed."""
    run_files("0010_vacuum")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

"""Records that wait for their first draft are found by an index."""

from storage.migrations.statements import run_files

revision = "0030_pre_waiting_records"
down_revision = "0029_pre_beat"


def upgrade() -> None:
    """Add the index."""
    run_files("0030_waiting_records")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

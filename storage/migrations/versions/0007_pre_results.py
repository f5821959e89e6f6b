"""Who waits for the result of a job outside of the ledger."""

from storage.migrations.statements import run_files

revision = "0007_pre_results"
down_revision = "0006_pre_fate"


def upgrade() -> None:
    """Make the table of those who wait."""
    run_files("0007_results")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

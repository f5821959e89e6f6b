"""A full sync remembers which models it has had asked about undecided mail, and a run how long it has waited."""

from storage.migrations.statements import run_files

revision = "0031_pre_full_sync"
down_revision = "0030_pre_open_records"


def upgrade() -> None:
    """Add the columns."""
    run_files("0031_full_sync_asked", "0031_waiting_runs")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

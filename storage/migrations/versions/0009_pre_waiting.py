"""Who waits for what: a gate for each cause, and jobs by cron."""

from storage.migrations.statements import run_files

revision = "0009_pre_waiting"
down_revision = "0008_pre_tenancy"


def upgrade() -> None:
    """Give gates their cause, and make the table of schedules."""
    run_files("0009_gates", "0009_schedules")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

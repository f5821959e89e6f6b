"""How the audit log is vacuumed, who has begun an effect, drafts ordered by hand, how long a run has worked."""

from storage.migrations.statements import run_files

revision = "0032_pre_audit_vacuum"
down_revision = "0031_pre_full_sync"


def upgrade() -> None:
    """Set the portion, replace functions, and add what they need."""
    run_files("0032_audit_vacuum", "0032_canceled_wakes", "0032_effect_jobs", "0032_orders_by_hand", "0032_worked_runs")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

"""How far the audit log has been counted, and the totals that the metrics show."""

from storage.migrations.statements import run_files

revision = "0005_pre_counting"
down_revision = "0004_pre_api_keys"


def upgrade() -> None:
    """Make the tables of counting."""
    run_files("0005_counting")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

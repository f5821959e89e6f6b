"""A disconnection waits for those who write orders for the mailbox."""

from storage.migrations.statements import run_files

revision = "0035_pre_holding"
down_revision = "0034_pre_owners"


def upgrade() -> None:
    """Add a function."""
    run_files("0035_orders")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

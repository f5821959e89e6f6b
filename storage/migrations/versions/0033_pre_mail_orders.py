"""How long effects are kept, whose jobs a connected mailbox runs, orders that were taken back, time that was worked."""

from storage.migrations.statements import run_files

revision = "0033_pre_mail_orders"
down_revision = "0032_pre_audit_vacuum"


def upgrade() -> None:
    """Replace functions, and add what they need."""
    run_files("0033_connections", "0033_kept_effects", "0033_worked_until")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

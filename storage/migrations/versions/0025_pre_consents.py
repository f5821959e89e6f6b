"""Requests for an owner's consent by browser, and which Google user a mailbox belongs to."""

from storage.migrations.statements import run_files

revision = "0025_pre_consents"
down_revision = "0024_pre_approvals"


def upgrade() -> None:
    """Make the table of consent requests, and let accounts keep their Google user."""
    run_files("0025_consents")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

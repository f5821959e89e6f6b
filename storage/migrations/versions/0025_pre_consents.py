"""Requests for consent by browser, which Google user a mailbox belongs to, and how its owner writes."""

from storage.migrations.statements import run_files

revision = "0025_pre_consents"
down_revision = "0024_pre_approvals"


def upgrade() -> None:
    """Make the tables of consent requests and voices, and let accounts keep their Google user."""
    run_files("0025_consents", "0025_voices")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

"""Mailboxes, their messages, how these are classified, and the life of what wants an answer."""

from storage.migrations.statements import run_files

revision = "0002_pre_mail"
down_revision = "0001_pre_ledger"


def upgrade() -> None:
    """Make what the mail jobs need."""
    run_files("0002_accounts", "0002_messages", "0002_emails", "0002_triage")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

"""A draft in doubt keeps since when, and the mailbox's history id from before then."""

from storage.migrations.statements import run_files

revision = "0020_pre_drafts"
down_revision = "0019_pre_outgoing"


def upgrade() -> None:
    """Add columns that older processes leave empty; a draft in doubt without them is looked for among all drafts."""
    run_files("0020_lost_drafts")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

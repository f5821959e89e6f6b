"""Records that wait for their first draft are found by an index."""

from storage.migrations.statements import build_index

revision = "0030_pre_waiting_records"
down_revision = "0029_pre_beat"


def upgrade() -> None:
    """Build the index of `find_waiting_records`: without it each full sync reads all records of its account."""
    build_index("emails_waiting", "on emails (org_id, account_id, state_changed_at) where state = 'pending'")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

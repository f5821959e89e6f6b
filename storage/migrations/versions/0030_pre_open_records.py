"""Records that wait for a draft, or for a person to send one, are found by an index."""

from storage.migrations.statements import build_index

revision = "0030_pre_open_records"
down_revision = "0029_pre_beat"


def upgrade() -> None:
    """Build the index: without it each full sync reads all records of its account."""
    build_index(
        "emails_open",
        "on emails (org_id, account_id, state, state_changed_at)"
        " where state in ('pending', 'drafted', 'rework_requested')",
    )


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

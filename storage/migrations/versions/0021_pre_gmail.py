"""Payload fields under other names, and what the Gmail family keeps."""

from storage.migrations.statements import build_index, run_files

revision = "0021_pre_gmail"
down_revision = "0020_pre_drafts"


def upgrade() -> None:
    """Let every door look up what another name of a field stands for, and one job at a time make labels."""
    build_index("accounts_user", "on accounts (org_id, user_id)")
    run_files("0021_payload_names", "0021_label_lease", "0021_backfills")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

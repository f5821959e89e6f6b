"""A job that reuses the id of one that has left: its dead letter is its own. And secrets whose names are split."""

from storage.migrations.statements import run_files

revision = "0016_pre_reused_ids"
down_revision = "0015_pre_empty_documents"


def upgrade() -> None:
    """Replace two functions, and let each org have a letter per job id."""
    run_files("0016_reused_ids")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

"""A named key belongs to one request and guards for its time; a job's own retry; and effects in doubt are found out."""

from storage.migrations.statements import run_files

revision = "0017_pre_keys"
down_revision = "0016_pre_reused_ids"


def upgrade() -> None:
    """Replace the functions that enqueue, and add their columns, none of which rewrites a table."""
    run_files("0017_keys", "0017_enqueue", "0017_enqueue_one", "0017_doubts")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

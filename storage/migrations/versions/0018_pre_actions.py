"""Actions are executed, approved and taken back: their states, links, the job at work, and the hook at its end."""

from storage.migrations.statements import run_files

revision = "0018_pre_actions"
down_revision = "0016_pre_reused_ids"


def upgrade() -> None:
    """Give actions their whole life, and end what was recorded before there was an executor."""
    run_files("0018_actions")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

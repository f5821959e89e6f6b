"""Who may approve actions, where they are asked, and which messages asked them."""

from storage.migrations.statements import run_files

revision = "0024_pre_approvals"
down_revision = "0023_pre_agents"


def upgrade() -> None:
    """Give users a Discord id, a zone and the role of an approver, and keep where approvals are asked for."""
    run_files("0024_approvals")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

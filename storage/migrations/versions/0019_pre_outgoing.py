"""Mail that leaves: how far each has got, who got an automatic answer, and until when an account may send nothing."""

from storage.migrations.statements import run_files

revision = "0019_pre_outgoing"
down_revision = "0018_pre_actions"


def upgrade() -> None:
    """Make the tables of outgoing mail."""
    run_files("0019_outgoing")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

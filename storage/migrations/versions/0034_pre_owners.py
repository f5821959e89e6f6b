"""What waits for a mailbox ends with its connection, and a gateway of the release before marks a connection too."""

from storage.migrations.statements import run_files

revision = "0034_pre_owners"
down_revision = "0033_pre_mail_orders"


def upgrade() -> None:
    """Replace functions, and add what they need."""
    run_files("0034_connections", "0034_job_times", "0034_orders", "0034_questions")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

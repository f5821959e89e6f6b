"""What an org may spend on the model in a day, what it has spent, and what is set aside for calls under way."""

from storage.migrations.statements import run_files

revision = "0003_pre_budgets"
down_revision = "0002_pre_mail"


def upgrade() -> None:
    """Make the tables of budgets."""
    run_files("0003_budgets")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

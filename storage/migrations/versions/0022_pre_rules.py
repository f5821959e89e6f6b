"""Safety policies as data, and what owners corrected."""

from storage.migrations.statements import run_files

revision = "0022_pre_rules"
down_revision = "0021_pre_gmail"


def upgrade() -> None:
    """Make the tables of safety policies and of corrections."""
    run_files("0022_rules")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

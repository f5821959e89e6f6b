"""A job's own number of attempts, at the SQL door too."""

from storage.migrations.statements import run_files

revision = "0013_pre_attempts"
down_revision = "0012_pre_doors"


def upgrade() -> None:
    """Give the SQL door the argument, and refuse a number out of bounds by its field."""
    run_files("0013_attempts")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

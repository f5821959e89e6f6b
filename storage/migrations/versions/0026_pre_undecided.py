"""A decision that nobody made says whose answers could not be used, so that others may be asked anew."""

from storage.migrations.statements import run_files

revision = "0026_pre_undecided"
down_revision = "0025_pre_consents"


def upgrade() -> None:
    """Add a column that older processes leave empty; a message that was undecided before is left to its person."""
    run_files("0026_undecided")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

"""A sealed place for any secret of an org."""

from storage.migrations.statements import run_files

revision = "0011_pre_heard"
down_revision = "0010_pre_leaving"


def upgrade() -> None:
    """Make the table, and the one way by which a handler reads it."""
    run_files("0011_org_secrets")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

"""Roles, tenants and the ledger."""

from storage.migrations.statements import run_files

revision = "0001_pre_ledger"
down_revision = None


def upgrade() -> None:
    """Make what every job needs."""
    run_files(
        "0001_roles",
        "0001_tenancy",
        "0001_ledger",
        "0001_enqueue",
        "0001_claims",
        "0001_end_hooks",
        "0001_endings",
        "0001_effects",
        "0001_rights",
    )


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

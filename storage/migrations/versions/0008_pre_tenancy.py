"""What handlers may not do: forge, read tokens, lock tables, end backends; and the relay's leadership as a row."""

from storage.migrations.statements import run_files

revision = "0008_pre_tenancy"
down_revision = "0007_pre_results"


def upgrade() -> None:
    """Narrow what each role may do; what an older database grants besides is revoked."""
    run_files("0008_rights", "0008_audit", "0008_leadership", "0008_secrets", "0008_security")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

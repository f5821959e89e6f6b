"""The empty document, which most payloads and outputs are, is not searched for secrets."""

from storage.migrations.statements import run_files

revision = "0015_pre_empty_documents"
down_revision = "0014_pre_audit"


def upgrade() -> None:
    """Change the two domains' checks; no table is read."""
    run_files("0015_empty_documents")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

"""A request for a rule, a direction, an action or a retry is remembered by its idempotency key, as one for a job is."""

from storage.migrations.statements import run_files

revision = "0028_pre_api_requests"
down_revision = "0027_pre_effects"


def upgrade() -> None:
    """Keep what a request made, whatever it is, and let the ledger remember requests."""
    run_files("0028_api_requests")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

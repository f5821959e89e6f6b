"""API keys, the requests that came with an idempotency key, and the indexes that lists over HTTP need."""

from storage.migrations.statements import build_index, run_files

revision = "0004_pre_api_keys"
down_revision = "0003_pre_budgets"


def upgrade() -> None:
    """Make what the HTTP door needs."""
    run_files("0004_api_keys")
    # What each costs: docs/decisions/2026-11-23-indexes-for-lists.md.
    build_index("jobs_parent", "on jobs (parent_id) where parent_id is not null")
    build_index(
        "jobs_troubled",
        "on jobs (org_id, created_at desc, id desc) where error is not null or cancel_reason is not null",
    )


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

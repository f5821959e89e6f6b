"""The audit log leaves: exports to files, the function that deletes, and indexes for lists of what happened."""

from storage.migrations.statements import build_index, run_files

revision = "0014_pre_audit"
down_revision = "0013_pre_attempts"


def upgrade() -> None:
    """Make the tables of exports, and let exported entries go by one function alone."""
    # What each costs: docs/decisions/2026-11-24-the-audit-log-leaves-by-exports.md. First, so that a build that is
    # broken off leaves nothing behind that a repetition finds in its way.
    build_index("audit_entries_other", "on audit_entries (org_id, id) where event not like 'job.%'")
    build_index(
        "audit_entries_correlation",
        "on audit_entries (correlation_id)"
        " where job_id is null or (event = 'job.enqueued' and correlation_id <> job_id::text)",
    )
    run_files("0014_audit_exports", "0014_audit_deletion")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

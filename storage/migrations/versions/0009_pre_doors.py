"""Every door takes the same jobs: bounds, shapes, one spelling, ids of one job; guards live as long as their job."""

from storage.migrations.statements import run_files

revision = "0009_pre_doors"
down_revision = "0008_pre_tenancy"


def upgrade() -> None:
    """Publish shapes beside job types, and check every job by them where it is enqueued."""
    run_files("0009_bounds", "0009_shapes", "0009_guards", "0009_enqueue")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

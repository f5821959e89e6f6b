"""Every door takes the same jobs: bounds, shapes, one spelling, ids of one job; guards live as long as their job."""

from storage.migrations.statements import run_files

revision = "0012_pre_doors"
down_revision = "0011_pre_heard"


def upgrade() -> None:
    """Publish shapes beside job types, and check every job by them where it is enqueued."""
    run_files("0012_bounds", "0012_shapes", "0012_guards", "0012_enqueue", "0012_enqueue_one")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

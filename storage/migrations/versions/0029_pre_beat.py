"""Beat leaves behind when it last ticked, so that another process sees that it is dead."""

from storage.migrations.statements import run_files

revision = "0029_pre_beat"
down_revision = "0028_pre_api_requests"


def upgrade() -> None:
    """Add the table."""
    run_files("0029_beat_ticks")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

"""Beat leaves behind when it last ticked, and a link that nobody used has an end."""

from storage.migrations.statements import run_files

revision = "0029_pre_beat"
down_revision = "0028_pre_api_requests"


def upgrade() -> None:
    """Add the table, and let a link end."""
    run_files("0029_beat_ticks", "0029_consent_ends")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

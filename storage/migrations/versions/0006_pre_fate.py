"""What becomes of a job and of its effects: losses, ways back, times, and how long a call may last."""

from storage.migrations.statements import run_files

revision = "0006_pre_fate"
down_revision = "0005_pre_counting"


def upgrade() -> None:
    """Redefine how a job leaves a claim, and how an effect begins."""
    run_files("0006_endings", "0006_effects")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

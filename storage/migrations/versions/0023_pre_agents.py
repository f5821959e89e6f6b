"""Agents: their profiles, version by version, and their runs with each turn; a hook ends the runs of jobs that end."""

from storage.migrations.statements import run_files

revision = "0023_pre_agents"
down_revision = "0022_pre_rules"


def upgrade() -> None:
    """Make three tables and the end-of-job hook."""
    run_files("0023_agents")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

"""Actions carry the files of their mail, runs their profile, and keys of jobs and of effects are two spaces."""

from alembic import op
from sqlalchemy import text

from storage.migrations.statements import build_index, run_files

revision = "0027_pre_effects"
down_revision = "0026_pre_undecided"


def upgrade() -> None:
    """Add the columns, and make the kind a part of the primary key of keys."""
    connection = op.get_bind()
    made = "select from pg_index where indexrelid = 'idempotency_keys_pkey'::regclass and indnatts = 3"
    if connection.execute(text(made)).first() is None:
        # First, so that a build that is broken off leaves nothing behind that a repetition finds in its way.
        build_index("idempotency_keys_of_kind", "on idempotency_keys (org_id, key, kind)", unique=True)
    run_files("0027_columns", "0027_keys")


def downgrade() -> None:
    """Never: a ledger goes forward only; restore a backup instead."""
    raise RuntimeError("the ledger goes forward only; restore a backup instead")

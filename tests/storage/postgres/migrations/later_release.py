"""A release after this one: its folder of migrations has one migration more."""

import shutil
from pathlib import Path

from storage.postgres.migrate import MIGRATIONS
from storage.postgres.readiness import newest_revision

LATER = "0002_pre_probe"

_MIGRATION = '''
"""A migration of a release to come."""

from alembic import op

from storage.migrations.statements import build_index, create_functions, run_files

revision = "{revision}"
down_revision = "{before}"


def upgrade() -> None:
    """Do what the test wants."""
    {does}
'''


def later_release(folder: Path, *does: str) -> Path:
    """Write the folder of migrations of such a release; its migration consists of these lines of Python."""
    migrations = folder / "migrations"
    shutil.copytree(MIGRATIONS, migrations, ignore=shutil.ignore_patterns("__pycache__"))
    text = _MIGRATION.format(revision=LATER, before=newest_revision(), does="\n    ".join(does))
    (migrations / "versions" / f"{LATER}.py").write_text(text)
    return migrations

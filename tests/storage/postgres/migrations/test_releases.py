"""Releases live side by side: this one serves on the schema of the next one (docs: releases.md)."""

from pathlib import Path

import pytest
from psycopg import Connection

from domain.jobs.failures import Forbidden
from settings import Settings
from storage.postgres.database import Database
from storage.postgres.migrate import upgrade
from storage.postgres.readiness import database_checks, installation_checks
from tests.doubles.factories import make_job_type, make_org
from tests.storage.postgres.migrations.later_release import LATER, later_release


def test_this_release_serves_on_the_schema_of_the_next_one_and_does_not_migrate_it(
    settings: Settings, store: Database, database: Connection, tmp_path: Path
) -> None:
    """That adds a column, and creates functions anew that this release calls."""
    column = 'op.execute("alter table jobs add column probe text")'
    upgrade(settings, migrations=later_release(tmp_path, column, 'create_functions("enqueue")'))
    make_job_type(store, "probe.run")
    org = make_org(database)
    with store.tenant(org) as tx:
        assert tx.raw("select postroom.enqueue('probe.run', %(org)s) as job_id", {"org": org})[0].job_id
    found = {check.name: check for check in (*database_checks(store), *installation_checks(store))}
    assert found["migrations"].finding.startswith(f"at {LATER}, of a newer release")
    assert [name for name, check in found.items() if not check.ok] == []
    with pytest.raises(Forbidden, match="a newer release has migrated"):
        upgrade(settings)
    assert database.execute("select version_num from alembic_version").fetchall() == [(LATER,)]

"""An empty database is brought to this release by one command, as often as one likes."""

import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from commands.database import database
from engine.catalogue import catalogue
from engine.runtime import Runtime, install
from settings import Settings
from tests.commands.calling import answer, refusal
from tests.doubles.factories import make_settings


def test_an_empty_database_is_migrated_and_learns_the_catalogue(empty_database_url: str, broker_url: str) -> None:
    process = Runtime(make_settings(database_url=empty_database_url, broker_url=broker_url))
    install(process)
    # Other tests migrate databases of the same server, and each migration sets the roles: one may say that it waits.
    with capture_logs():
        first, second = answer(database, "migrate"), answer(database, "migrate")
    with process.database.ledger() as tx:
        names = [row.name for row in tx.raw("select name from job_types order by name")]
        revision = tx.raw("select version_num from alembic_version")[0][0]
    process.close()
    install(None)
    assert first == second == {"revision": revision, "job_types": names}
    assert names == [job_type.name for job_type in catalogue]


def test_a_database_out_of_reach_is_one_line(settings: Settings) -> None:
    away = SecretStr("postgresql://postgres:hunter2@127.0.0.1:1/none")
    install(Runtime(settings.model_copy(update={"database_url": away})))
    line = refusal(database, "migrate")
    install(None)
    assert line.startswith("Error: PostgreSQL: nobody listens at its address; start PostgreSQL")
    assert "hunter2" not in line


@pytest.mark.parametrize(
    ("moment", "line"),
    [
        ("yesterday", "is no RFC 3339 time"),
        ("2026-11-30T04:12:00", "has no time zone"),
        ("2999-01-01T00:00:00Z", "is still to come"),
    ],
)
def test_a_restore_to_no_moment_that_was_is_refused(process: Runtime, moment: str, line: str) -> None:
    with process.database.ledger() as tx:
        assert line in refusal(database, "restored", "--to", moment)
        assert tx.raw("select count(*) from restorations")[0][0] == 0


def test_a_restore_is_written_down_with_who_said_so(process: Runtime) -> None:
    said = answer(database, "restored", "--to", "2026-11-20T04:12:00+01:00", "--as", "ada")
    assert said["lost_from"] == "2026-11-20T03:12:00Z"
    assert said["to_do"] == []
    with process.database.ledger() as tx:
        rows = tx.raw("select actor_id from orgs o left join restorations r on r.org_id = o.id")
    assert {row.actor_id for row in rows} == {"operator:ada"}, "each org has lost what came after"

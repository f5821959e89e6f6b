"""An empty database is brought to this release by one command, as often as one likes."""

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

"""Liveness asks nothing; readiness names what is wrong, and no secret."""

import pytest
from psycopg import Connection
from pydantic import SecretStr

from sandbox.servers.free_port import LOOPBACK, find_free_port
from settings import Settings
from tests.gateway.serving import ask, serve


def checks(gateway: str) -> tuple[int, dict[str, bool]]:
    answer = ask(f"{gateway}/readyz")
    return answer.status, {name: check["ok"] for name, check in answer.json["checks"].items()}


def test_a_process_that_answers_lives(settings: Settings) -> None:
    unreachable = settings.model_copy(update={"database_url": SecretStr("postgresql://postgres@127.0.0.1:1/none")})
    with serve(unreachable) as url:
        answer = ask(f"{url}/healthz")
    assert (answer.status, answer.json) == (200, {"status": "ok"})
    assert answer.headers["x-request-id"]


def test_metrics_and_health_have_a_port_of_their_own(settings: Settings) -> None:
    port = find_free_port()
    with serve(settings.model_copy(update={"metrics_port": port})):
        answer = ask(f"http://{LOOPBACK}:{port}/healthz")
        assert ask(f"http://{LOOPBACK}:{port}/metrics").status == 200
    assert (answer.status, list(answer.json["checks"])) == (200, ["event loop"])


def test_a_migrated_database_with_a_catalogue_makes_it_ready(gateway: str) -> None:
    ready = {
        "ledger role": True,
        "tenant role": True,
        "auditor role": True,
        "writes": True,
        "migrations": True,
        "catalogue": True,
    }
    assert checks(gateway) == (200, ready)


@pytest.mark.parametrize(
    ("harm", "name"),
    [("delete from job_types", "catalogue"), ("update alembic_version set version_num = '0000'", "migrations")],
)
def test_what_is_missing_is_named(gateway: str, database: Connection, harm: str, name: str) -> None:
    database.execute(harm)
    status, found = checks(gateway)
    assert status == 503
    assert [check for check, ok in found.items() if not ok] == [name]


def test_an_unreachable_database_is_told_without_its_password(settings: Settings) -> None:
    port = find_free_port()
    url = SecretStr(f"postgresql://postgres:hunter2@127.0.0.1:{port}/none")
    unreachable = settings.model_copy(update={"database_url": url, "ledger_database_url": url})
    with serve(unreachable) as gateway:
        answer = ask(f"{gateway}/readyz")
    assert answer.status == 503
    assert b"hunter2" not in answer.body
    assert not any(check["ok"] for check in answer.json["checks"].values())


def test_a_login_above_row_level_security_is_not_ready(settings: Settings) -> None:
    with serve(settings.model_copy(update={"tenant_database_url": settings.database_url})) as gateway:
        status, found = checks(gateway)
    assert status == 503
    assert not found["tenant role"]

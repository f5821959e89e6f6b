"""Who is let in: a good key within its rate, whatever becomes of the place where requests are counted."""

from uuid import UUID

import pytest
from psycopg import Connection
from pydantic import SecretStr

from domain.jobs.job import Origin
from domain.orgs.access.api_keys import Role
from engine.runtime import Runtime
from sandbox.servers.free_port import find_free_port
from settings import Settings
from storage.orgs.access import api_keys
from storage.postgres.database import Database
from tests.gateway.api.conftest import Client, client_of
from tests.gateway.serving import ask, serve


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer sk-postroom-nonsense"},
        {"Authorization": f"Bearer sk-postroom-{'0' * 12}-{'0' * 64}"},
        {"Authorization": "Basic YTpi"},
        {"Authorization": "Bearer \xff"},
    ],
)
def test_without_a_good_key_nobody_is_let_in(door: str, headers: dict[str, str]) -> None:
    for path, body in (("/v1/jobs", None), ("/v1/jobs", b"{}"), (f"/v1/jobs/{UUID(int=1)}", None)):
        answer = ask(f"{door}{path}", body, headers)
        assert (answer.status, answer.json["code"]) == (401, "unauthorised")
        assert answer.headers["www-authenticate"] == 'Bearer realm="postroom"'
        assert answer.headers["content-type"] == "application/problem+json"


def test_a_revoked_key_is_nobodys(client: Client, store: Database) -> None:
    assert client.get("/v1/jobs").status == 200
    with store.ledger() as tx:
        api_keys.revoke(tx, client.key_id, by=Origin())
    assert client.get("/v1/jobs").status == 401


def test_the_use_of_a_key_is_noted(client: Client, database: Connection) -> None:
    client.get("/v1/jobs")
    assert database.execute("select last_used_at is not null from api_keys").fetchall() == [(True,)]


@pytest.mark.usefixtures("process")
def test_each_key_has_a_rate_of_its_own(settings: Settings, store: Database, org: UUID) -> None:
    with serve(settings.model_copy(update={"api_requests_per_minute": 3})) as door:
        one, other = (client_of(store, door, org, Role.READER) for _ in range(2))
        assert [one.get("/v1/jobs").status for _ in range(4)] == [200, 200, 200, 429]
        refused = one.get("/v1/jobs")
        assert (refused.status, refused.json["code"]) == (429, "rate_limited")
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert other.get("/v1/jobs").status == 200


@pytest.mark.usefixtures("process")
def test_several_gateways_count_together(settings: Settings, store: Database, org: UUID) -> None:
    small = settings.model_copy(update={"api_requests_per_minute": 3})
    with serve(small) as door, serve(small) as another:
        client = client_of(store, door, org, Role.READER)
        elsewhere = Client(another, org, client.key, client.key_id)
        statuses = [one.get("/v1/jobs").status for one in (client, elsewhere, client, elsewhere)]
    assert statuses == [200, 200, 200, 429]


@pytest.mark.usefixtures("process")
def test_the_door_stays_open_when_nobody_can_count(settings: Settings, store: Database, org: UUID) -> None:
    nowhere = SecretStr(f"redis://127.0.0.1:{find_free_port()}/0")
    without = settings.model_copy(update={"limits_url": nowhere, "api_requests_per_minute": 1})
    with serve(without) as door:
        client = client_of(store, door, org, Role.READER)
        assert [client.get("/v1/jobs").status for _ in range(3)] == [200, 200, 200]


def test_a_ledger_that_is_away_is_told_as_passing(settings: Settings) -> None:
    url = SecretStr(f"postgresql://postgres:hunter2@127.0.0.1:{find_free_port()}/none")
    with serve(settings.model_copy(update={"database_url": url})) as door:
        answer = ask(f"{door}/v1/jobs", headers={"Authorization": f"Bearer sk-postroom-{'0' * 12}-{'0' * 64}"})
    assert (answer.status, answer.json["code"]) == (503, "database.unavailable")
    assert answer.headers["retry-after"] == "10"
    assert b"hunter2" not in answer.body


def test_an_unknown_route_and_method_are_problems_too(client: Client, process: Runtime) -> None:
    assert process.settings is not None
    for answer, status in ((client.get("/v1/nothing"), 404), (client.post("/v1/openapi.json"), 405)):
        assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")

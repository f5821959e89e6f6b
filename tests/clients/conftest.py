"""A service's side: a gateway, a key, the client, and a login of the service's own."""

from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest
from postroom_client import Client, Conversation, Pace, Retries
from psycopg import Connection
from psycopg.conninfo import make_conninfo

from domain.orgs.access.api_keys import Role
from engine.runtime import Runtime
from settings import Settings
from storage.postgres.database import Database
from tests.clients.lossy_gateway import LossyGateway, lossy_gateway
from tests.gateway.api.conftest import give_key
from tests.gateway.serving import serve

QUICK = Conversation(Retries(tries=4, first_wait_s=0.01, within_s=30), Pace(first_s=0.01, longest_s=0.05))
"""Tries and looks again without the waits that spare a gateway in use."""


@pytest.fixture
def gateway(settings: Settings, process: Runtime) -> Iterator[str]:
    """The URL of a gateway whose fleet has published its catalogue."""
    assert process.database is not None
    with serve(settings) as url:
        yield url


@pytest.fixture
def api_key(store: Database, org: UUID) -> str:
    """A writer's key of the org."""
    return give_key(store, org, Role.WRITER)[0].text


@pytest.fixture
def client(gateway: str, api_key: str) -> Iterator[Client]:
    """The client, at the gateway."""
    with Client(gateway, api_key, conversation=QUICK) as made:
        yield made


@pytest.fixture
def lossy(gateway: str) -> Iterator[LossyGateway]:
    """A way to the gateway on which requests and answers get lost."""
    with lossy_gateway(gateway) as made:
        yield made


@pytest.fixture
def lossy_client(lossy: LossyGateway, api_key: str) -> Iterator[Client]:
    """The client, on that way."""
    with Client(lossy.url, api_key, conversation=QUICK) as made:
        yield made


@pytest.fixture
def service_url(database: Connection, database_url: str) -> Iterator[str]:
    """A login that may do what docs/howto/hand-over-work.md grants to a service, and a table of the service's own."""
    name = f"service_{uuid4().hex}"
    database.execute(f"create role {name} login password 'secret'")
    database.execute(f"grant usage on schema postroom to {name}")
    database.execute(f"grant execute on function postroom.enqueue to {name}")
    database.execute("create table orders (number text primary key)")
    database.execute(f"grant select, insert on orders to {name}")
    yield make_conninfo(database_url, user=name, password="secret")
    database.execute(f"drop owned by {name}")
    database.execute(f"drop role {name}")

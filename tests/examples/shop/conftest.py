"""The shop in its database, with a worker that has its package."""

from collections.abc import Iterator
from contextlib import ExitStack

import psycopg
import pytest
import redis

from tests.examples.shop.running_shop import HAS_THE_SHOP, PROJECT, Shop
from tests.fleet.fleet import Fleet
from tests.servers.servers import TEMPLATE, SessionServers, temporary_database


@pytest.fixture(scope="module")
def shop(
    servers: SessionServers, own_broker: tuple[str, redis.Redis], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shop]:
    """A worker of two of the queues has the shop's package."""
    folder = tmp_path_factory.mktemp("shop")
    broker_url, broker = own_broker
    broker.flushdb()
    with ExitStack() as stack:
        database_url = stack.enter_context(temporary_database(servers, template=TEMPLATE))
        with psycopg.connect(database_url, autocommit=True) as owner:
            owner.execute((PROJECT / "schema.sql").read_bytes())
        fleet = Fleet(database_url, broker_url, folder, stack)
        fleet.worker(queues=("notifications", "exports", "default"), settings=HAS_THE_SHOP).ready()
        yield Shop(fleet, folder, stack)


@pytest.fixture
def service(shop: Shop) -> Iterator[psycopg.Connection]:
    """The service's connection."""
    with psycopg.connect(shop.conninfo) as connection:
        yield connection

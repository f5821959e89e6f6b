"""The shop as its tests see it: a service with its own login, and a fleet that has its package."""

import os
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import httpx2
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from domain.jobs.job import Origin
from domain.orgs.access.api_keys import NOISE, Role, make_key
from sandbox.servers.child_process import ChildProcess, Command
from sandbox.servers.free_port import LOOPBACK, find_free_port
from storage.orgs.access import api_keys
from storage.orgs.access.api_keys import KeyOptions
from tests.fleet.fleet import Fleet
from tests.house.reading import ROOT
from tests.servers.python_processes import spawn_python
from tests.waiting import eventually

PROJECT = ROOT / "examples" / "shop"
HAS_THE_SHOP = {"POSTROOM_JOBS": "shop.jobs", "PYTHONPATH": str(PROJECT)}
"""The environment of a process of the fleet that has the shop's package."""
READY_WITHIN_S = 60.0


@dataclass
class Shop:
    """The shop as an org of a fleet, and as a service with a login of its own."""

    fleet: Fleet
    folder: Path
    stack: ExitStack

    @property
    def org_id(self) -> UUID:
        return self.fleet.org

    @property
    def conninfo(self) -> str:
        """The service's login."""
        return make_conninfo(self.fleet.database_url, user="shop_service")

    @property
    def sqlalchemy_url(self) -> str:
        """The same as SQLAlchemy writes it."""
        given = conninfo_to_dict(self.conninfo)
        return f"postgresql+psycopg://{given['user']}@{given['host']}:{given['port']}/{given['dbname']}"

    def serve(self, *words: str, path: str, **environment: str) -> str:
        """Start `python -m <words> --port …`; its URL, once it answers at the path."""
        port = find_free_port()
        command = Command(
            [sys.executable, "-m", *words, "--port", str(port)],
            self.fleet.environment | HAS_THE_SHOP | environment,
            PROJECT,
        )
        process = ChildProcess(command, log=self.folder / f"{words[0]}.log", spawn=spawn_python)
        process.start()
        self.stack.callback(process.stop)
        url = f"http://{LOOPBACK}:{port}"
        eventually(
            lambda: not process.running or answers(f"{url}{path}"),
            within=READY_WITHIN_S,
            describe=f"{words[0]} at {path}",
        )
        assert process.running, process.read_log()[-2000:]
        return url

    def make_key(self) -> str:
        """A key of the role writer for the shop."""
        key = make_key(os.urandom(NOISE))
        with self.fleet.client.database.ledger() as tx:
            api_keys.create(tx, self.org_id, key, KeyOptions("shop", Role.WRITER), by=Origin())
        return key.text

    def jobs_of(self, order_id: UUID) -> list[UUID]:
        """The confirmations of an order that are in the ledger."""
        query = "select id from jobs where job_type = 'orders.confirm' and payload ->> 'order_id' = %s::uuid::text"
        return [row[0] for row in self.fleet.ask(query, order_id)]

    def orders_of(self, buyer: str) -> list[UUID]:
        """The orders of a buyer."""
        return [row[0] for row in self.fleet.ask("select id from shop.orders where buyer = %s order by id", buyer)]

    def wait_for_invoice(self, order_id: UUID) -> str:
        """Wait until an order is confirmed and has its invoice; the invoice's number."""
        query = (
            "select number from shop.invoices join shop.orders on id = order_id where id = %s and confirmed_at < now()"
        )
        found = eventually(
            lambda: self.fleet.ask(query, order_id), within=READY_WITHIN_S, describe=f"the invoice of order {order_id}"
        )
        return str(found[0][0])


def answers(url: str) -> bool:
    try:
        return httpx2.get(url).status_code < httpx2.codes.INTERNAL_SERVER_ERROR
    except httpx2.TransportError:
        return False

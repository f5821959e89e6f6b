"""A small fleet with some mail, left running for browsers: tests play on it, and pictures are taken of it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from pydantic import SecretStr

from domain.orgs.access.api_keys import Role
from domain.orgs.access.operators import OperatorRole
from operations.call import Call
from operations.orgs.api_keys import create_key
from operations.orgs.operators import add_operator
from sandbox.demo import set_up
from sandbox.demo.doors import HttpDoor
from sandbox.demo.fleet import Fleet, Tell
from sandbox.demo.mailbox_story import OWNER
from sandbox.demo.story import ACCESS_TOKEN, ORG, REFRESH_TOKEN, deliver, make_mailbox, whole_story
from sandbox.emulator.control import GmailAccount, MessagePlace
from sandbox.emulator.fault_order import FaultOrder
from sandbox.servers.waiting import wait_until
from settings import Settings
from storage.postgres.database import Database
from tests.doubles.calls import call_by

OPERATORS = ("operator@postroom.example", "keyboard@postroom.example")
PASSWORD = "quiet orange ladders"
WITHIN_S = 90.0
"""How long anything may take on a busy machine of two cores."""
HELD_UP_S = 20.0
"""How long a call of Gmail that is held up waits at most: less than a job waits for it."""


@dataclass(frozen=True)
class Stand:
    """The fleet, its database, one mailbox with mail, a key of the org, and links by which operators sign in."""

    fleet: Fleet
    database: psycopg.Connection[Any]
    mailbox: GmailAccount
    door: HttpDoor
    org_id: str
    account_id: str
    places: Mapping[str, MessagePlace]
    """Where each message lies, by its file, the oldest first."""
    links: Mapping[str, str]
    """One-time links, by the operators' addresses."""

    @property
    def console(self) -> str:
        """The address of the console."""
        return f"{self.fleet.addresses.gateway}/console"

    def ask(self, sql: str, *values: object) -> Any:  # noqa: ANN401  # a value of any type
        """The first column of the first row; None without a row."""
        row = self.database.execute(sql, values).fetchone()
        return None if row is None else row[0]

    def wait(self, describe: str, sql: str, *values: object) -> Any:  # noqa: ANN401  # a value of any type
        """Wait until a statement answers with something true."""
        return wait_until(lambda: self.ask(sql, *values), within=WITHIN_S, describe=describe)

    def rest(self) -> None:
        """Wait until no job is at work or due."""
        self.wait(
            "the fleet to rest", "select not exists (select from jobs where finished_at is null and run_at < now())"
        )

    def hold_up(self, thread_id: str) -> None:
        """Let Gmail keep a call about a thread waiting until `let_go`, so that a job about it is seen while it runs."""
        self.fleet.gmail.order(FaultOrder(operation="threads.*", path=thread_id, delay_s=HELD_UP_S))

    def let_go(self) -> None:
        """Let Gmail answer every call at once again."""
        self.fleet.gmail.clear_faults()

    def enqueue(self, job_type: str, **payload: object) -> str:
        """Enqueue a job as a service does; its id."""
        return str(self.door.post("/v1/jobs", {"job_type": job_type, "payload": payload})["job_id"])


@contextmanager
def running_stand(folder: Path, tell: Tell, mails: int) -> Iterator[Stand]:
    """Start a fleet, connect a mailbox with the newest messages of the story, and wait until they are decided about."""
    with Fleet(folder, tell) as fleet, psycopg.connect(fleet.addresses.database, autocommit=True) as database:
        mailbox = make_mailbox(fleet.gmail)
        places = deliver(mailbox, whole_story()[-mails:])
        account_id = set_up.connect(fleet, org=ORG, email=OWNER, access_token=ACCESS_TOKEN, refresh_token=REFRESH_TOKEN)
        row = database.execute("select org_id from accounts").fetchone()
        assert row is not None
        with _terminal(fleet, row[0]) as call:
            key = create_key(call, role=Role.OPERATOR, name="browser").key
            links = {email: add_operator(call, email, role=OperatorRole.ADMIN).link for email in OPERATORS}
        stand = Stand(
            fleet=fleet,
            database=database,
            mailbox=mailbox,
            door=HttpDoor(fleet.addresses.gateway, key),
            org_id=str(row[0]),
            account_id=account_id,
            places=places,
            links=links,
        )
        stand.wait("the mail to be stored", "select count(*) >= %s from messages", mails)
        stand.rest()
        tell(f"{mails} messages are stored and decided about")
        yield stand


@contextmanager
def _terminal(fleet: Fleet, org_id: UUID) -> Iterator[Call]:
    """Calls of an operator at a terminal, without a process for each: it would compile and import for three seconds."""
    addresses = fleet.addresses
    settings = Settings(
        database_url=addresses.database, sealing_keys=SecretStr(addresses.sealing_key), public_url=addresses.gateway
    )
    database = Database(settings)
    try:
        yield replace(call_by("browser", database, org_id=org_id), settings=settings)
    finally:
        database.dispose()

"""What the commands that list share: whose rows they read, and how far back they have looked."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TypeVar

import click

from commands.answers import show_rows
from domain.jobs.contract import parse_time
from engine.runtime import runtime
from storage.ledger import orgs
from storage.postgres.database import Transaction
from storage.postgres.looking import Looked

Row = TypeVar("Row")

org_option = click.option("--org", help="Only this org: its id or name.")
before_option = click.option("--before", help="Only what is older than this RFC 3339 time, to look further.")


@contextmanager
def reading(org: str | None) -> Iterator[Transaction]:
    """A transaction that reads one org's rows, or without an org those of all."""
    with runtime().database.ledger() as tx:
        org_id = orgs.find_named(tx, org)
        if org_id is None:
            yield tx
            return
    with runtime().database.tenant(org_id) as tx:
        yield tx


def time_of(text: str | None) -> datetime | None:
    """The time that an option names; raises `Invalid`."""
    return None if text is None else parse_time(text, "before")


def show_looked(found: Looked[Row], columns: Sequence[str], *, limit: int, as_json: bool) -> None:
    """Print a page of a list; beside it, on standard error, how far was looked when that was not to the end."""
    show_rows(found.rows[:limit], columns, as_json=as_json)
    if found.reached is not None and len(found.rows) <= limit:
        click.echo(f"Looked back to {found.reached.isoformat()}; --before looks further.", err=True)

"""`celery -A tasks gates`: see what must not run now, pause more, let it run again."""

import re
from datetime import datetime, timedelta
from uuid import UUID

import click

from commands.answers import FleetGroup, json_option, operator, operator_option, show_document, show_rows
from domain.jobs.contract import parse_time
from domain.jobs.failures import Gone, Invalid
from domain.jobs.gate_causes import Cause
from domain.jobs.job import SYSTEM_ORG
from domain.jobs.queues import Queue
from engine.catalogue import catalogue
from engine.process.runtime import runtime
from storage.accounts import accounts
from storage.ledger import gates as stored
from storage.ledger import orgs
from storage.ledger.gates import Gate
from storage.operators import operator_actions
from storage.postgres.database import Transaction

SCOPES = ("fleet", "queue", "job_type", "org", "account", "provider", "org_provider")
WHOLE_FLEET = "*"
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ORG_AND_PROVIDER = re.compile(rf"{ID.pattern}:[a-z_]+")
scope_argument = click.argument("scope", type=click.Choice(SCOPES))
key_argument = click.argument("key", default=WHOLE_FLEET)


@click.group(cls=FleetGroup)
def gates() -> None:
    """See what must not run now, pause more, or let it run again."""


@gates.command("list")
@json_option
def list_gates(as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """List the gates that are closed now."""
    with runtime().database.ledger() as tx:
        found = stored.closed(tx)
    show_rows(found, ("scope", "key", "cause", "reason", "until", "actor"), as_json=as_json)


@gates.command("close")
@scope_argument
@key_argument
@click.option("--reason", required=True, help="Why; operators see it.")
@click.option("--until", help="Until this RFC 3339 time; without it, until somebody opens it.")
@click.option("--for", "seconds", type=click.IntRange(1), help="For so many seconds.")
@operator_option
@json_option
def close_gate(  # noqa: PLR0913, PLR0917 - one parameter per option
    scope: str,
    key: str,
    reason: str,
    until: str | None,
    seconds: int | None,
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Keep the jobs of a queue, job type, org, account, provider, org at a provider, or of the whole fleet queued."""
    end = end_of(until, seconds)
    by = operator(operator_name)
    gate = Gate(scope, known_key(scope, key), reason, end, by.actor_id)
    facts = {"scope": scope, "key": gate.key, "reason": reason, "until": end and end.isoformat()}
    with runtime().database.ledger() as tx:
        check_exists(tx, scope, gate.key)
        stored.close(tx, gate)
        operator_actions.record(tx, "gate.closed", facts, by=by, org_id=SYSTEM_ORG)
    show_document("gate", gate, as_json=as_json)


@gates.command("open")
@scope_argument
@key_argument
@click.option("--cause", type=click.Choice([cause.value for cause in Cause]), help="Only what this cause closed.")
@operator_option
@json_option
def open_gate(
    scope: str,
    key: str,
    cause: str | None,
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Let jobs run again; those that no other gate keeps back are let out at once."""
    with runtime().database.ledger() as tx:
        if not stored.open_gate(tx, scope, key, Cause(cause) if cause else None):
            raise Gone(f"the gate {scope} {key} is not closed" + (f" for the cause {cause}" if cause else ""))
        facts = {"scope": scope, "key": key} | ({"cause": cause} if cause else {})
        operator_actions.record(tx, "gate.opened", facts, by=operator(operator_name), org_id=SYSTEM_ORG)
    show_document("gate", facts | {"state": "open"}, as_json=as_json)


def known_key(scope: str, key: str) -> str:
    """The key as the ledger compares it; raises `Invalid` for one that could never match."""
    if (scope == "fleet") != (key == WHOLE_FLEET):
        raise Invalid("key", "the fleet has none, every other scope needs one")
    if scope == "queue" and key not in {queue.value for queue in Queue}:
        raise Invalid("key", f"there is no queue {key}")
    if scope == "job_type":
        found = catalogue.find(key)
        if found is None:
            raise Invalid("key", f"there is no job type {key}")
        return found.name
    if scope == "org_provider" and not ORG_AND_PROVIDER.fullmatch(key):
        raise Invalid("key", "is the org's id, a colon and a provider's name")
    if scope in {"provider", "org_provider"}:
        provider = key.rpartition(":")[2]
        known = sorted({name for job_type in catalogue for name in job_type.providers})
        if provider not in known:
            raise Invalid("key", f"there is no provider {provider}; known are {', '.join(known)}")
    return key


def end_of(until: str | None, seconds: int | None) -> datetime | None:
    """When a gate opens by itself; None for never. Raises `Invalid` for an end in the past or beyond all calendars."""
    if until and seconds:
        raise Invalid("until", "give either a time or a number of seconds")
    now = runtime().clock()
    if until:
        end = parse_time(until, "until")
        if end <= now:
            raise Invalid("until", "is in the past")
        return end
    try:
        return now + timedelta(seconds=seconds) if seconds else None
    except OverflowError:
        raise Invalid("for", "ends after the year 9999") from None


def check_exists(tx: Transaction, scope: str, key: str) -> None:
    """Raise `Invalid` when the key is of an org or an account that does not exist."""
    if scope in {"org", "org_provider"}:
        org = key.partition(":")[0]
        if not orgs.exists(tx, identity(org)):
            raise Invalid("key", f"there is no org with the id {org}")
    if scope == "account":
        try:
            accounts.get(tx, identity(key))
        except Gone:
            raise Invalid("key", f"there is no account with the id {key}") from None


def identity(key: str) -> UUID:
    """The id that a key is; raises `Invalid` for another spelling than the ledger's, which would never match."""
    if not ID.fullmatch(key):
        raise Invalid("key", f"{key} is no id in its usual form, lower case with hyphens")
    return UUID(key)

"""`celery -A tasks gates`: see what must not run now, pause more, let it run again."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

import click

from commands.answers import FleetGroup, json_option, operator, operator_option, show_document, show_rows
from domain.jobs.contract import parse_time
from domain.jobs.failures import Gone, Invalid
from domain.jobs.gate_causes import Cause
from domain.jobs.job import SYSTEM_ORG
from domain.jobs.queues import Queue
from engine.catalogue import catalogue
from engine.runtime import runtime
from operations.accounts import account_of
from storage.audit import deeds
from storage.ledger import gates as stored
from storage.ledger import orgs
from storage.ledger.gates import Gate
from storage.postgres.database import Transaction

SCOPES = ("fleet", "queue", "job_type", "org", "account", "provider", "org_provider")
WHOLE_FLEET = "*"
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
    """Keep the jobs of a queue, job type, org, account, provider, org at a provider, or of the whole fleet queued.

    KEY is the name; of an account its id or address, of an org its id or name, of an org at a provider ORG:PROVIDER.
    """
    end = end_of(until, seconds)
    by = operator(operator_name)
    with runtime().database.ledger() as tx:
        gate = Gate(scope, known_key(tx, scope, key), reason, end, by.actor_id)
        facts = {"scope": scope, "key": gate.key, "reason": reason, "until": end and end.isoformat()}
        stored.close(tx, gate)
        deeds.record(tx, "gate.closed", facts, by=by, org_id=SYSTEM_ORG)
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
        key = _opened(tx, scope, key, Cause(cause) if cause else None)
        facts = {"scope": scope, "key": key} | ({"cause": cause} if cause else {})
        deeds.record(tx, "gate.opened", facts, by=operator(operator_name), org_id=SYSTEM_ORG)
    show_document("gate", facts | {"state": "open"}, as_json=as_json)


def _opened(tx: Transaction, scope: str, key: str, cause: Cause | None) -> str:
    """Open the gate and return its key; a gate that stands may be opened though its key names nothing any more."""
    if stored.open_gate(tx, scope, key, cause):
        return key
    known = known_key(tx, scope, key)
    if known == key or not stored.open_gate(tx, scope, known, cause):
        raise Gone(f"the gate {scope} {key} is not closed" + (f" for the cause {cause.value}" if cause else ""))
    return known


def known_key(tx: Transaction, scope: str, key: str) -> str:
    """The key as the ledger compares it; raises `Invalid` for one that could never match.

    A mailbox may be named by its address and an org by its name, as everywhere.
    """
    if (scope == "fleet") != (key == WHOLE_FLEET):
        raise Invalid("key", "the fleet has none, every other scope needs one")
    return KEYS[scope](tx, key)


def _job_type(_tx: Transaction, key: str) -> str:
    found = catalogue.find(key)
    return found.name if found else _one_of(key, "job type", [each.name for each in catalogue])


def _org_at_provider(tx: Transaction, key: str) -> str:
    org, colon, provider = key.rpartition(":")
    if not colon:
        raise Invalid("key", "is the org's id or name, a colon and a provider's name")
    return f"{_org_id(tx, org)}:{_provider(tx, provider)}"


def _one_of(key: str, kind: str, known: Sequence[str]) -> str:
    if key not in known:
        raise Invalid("key", f"{key} is no known {kind}; known are {', '.join(known)}")
    return key


def _provider(_tx: Transaction, key: str) -> str:
    return _one_of(key, "provider", sorted({name for job_type in catalogue for name in job_type.providers}))


def _org_id(tx: Transaction, key: str) -> str:
    try:
        return str(orgs.find(tx, key))
    except (Gone, Invalid) as failure:
        raise Invalid("key", failure.reason) from None


def _account_id(tx: Transaction, key: str) -> str:
    try:
        return str(account_of(tx, key).account_id)
    except (Gone, Invalid) as failure:
        raise Invalid("key", failure.reason) from None


KEYS: Mapping[str, Callable[[Transaction, str], str]] = {
    "fleet": lambda _tx, key: key,
    "queue": lambda _tx, key: _one_of(key, "queue", [queue.value for queue in Queue]),
    "job_type": _job_type,
    "org": _org_id,
    "account": _account_id,
    "provider": _provider,
    "org_provider": _org_at_provider,
}
"""How the key of each scope is found."""


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

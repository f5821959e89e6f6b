"""Gates: what must not run now, more of it, and less."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import Field

from domain.instants import written
from domain.jobs.contract import parse_time
from domain.jobs.failures import Gone, Invalid
from domain.jobs.gate_causes import Cause
from domain.jobs.job import SYSTEM_ORG
from domain.jobs.queues import Queue
from domain.orgs.access.operators import OperatorRole
from operations.call import Call
from operations.mail.accounts import account_of, target_to_write
from operations.operation import Area, OperatorsOnly, Record
from operations.pages import Page, Window
from storage.jobs import gates, job_types, ledger
from storage.jobs.gates import Gate
from storage.orgs import orgs
from storage.postgres.database import Transaction

GATES = Area("gates", "See what must not run now, pause more, or let it run again.")
FLEET = OperatorsOnly("a gate may keep back the jobs of all orgs, and an API key is of one org")
WHOLE_FLEET = "*"


class GateScope(StrEnum):
    """What a gate keeps back."""

    FLEET = "fleet"
    QUEUE = "queue"
    JOB_TYPE = "job_type"
    ORG = "org"
    ACCOUNT = "account"
    PROVIDER = "provider"
    ORG_PROVIDER = "org_provider"


class GateView(Record):
    """One closed gate."""

    plural: ClassVar = "gates"
    scope: GateScope
    key: str
    cause: Cause
    reason: str
    until: datetime | None = Field(description="Null: until somebody opens it.")
    actor: str


class OpenedGate(Record):
    """A gate that was opened, for one cause or for all."""

    scope: GateScope
    key: str
    cause: Cause | None
    state: str = "open"


@GATES.look("list", FLEET)
def list_gates(call: Call, window: Window) -> Page[GateView]:
    """List the gates that are closed now."""
    with call.reading() as tx:
        return window.records(tx, "list_closed_gates", GateView)


@GATES.deed("close", FLEET, events=("gate.closed",))
def close_gate(
    call: Call,
    scope: GateScope,
    key: str = WHOLE_FLEET,
    *,
    reason: Annotated[str, Field(description="Why; operators see it.")],
    until: Annotated[
        str | None, Field(description="Until this RFC 3339 time; without it, until somebody opens it.")
    ] = None,
    seconds: Annotated[int | None, Field(ge=1, description="For so many seconds.")] = None,
) -> GateView:
    """Keep the jobs of a queue, job type, org, account, provider, org at a provider, or of the whole fleet queued.

    Of two closings the later end holds; the answer is the gate as it holds now.
    KEY is the name; of an account its id or address, of an org its id or name, of an org at a provider ORG:PROVIDER.
    """
    _check_scope(call, scope)
    with call.writing() as tx:
        end = _end(until, seconds, ledger.read_time(tx))
        gate = Gate(scope, _known_key(tx, scope, key), reason, end, call.name)
        if scope is GateScope.ACCOUNT:
            target_to_write(tx, gate.key, None)
        gates.close(tx, gate)
        facts = {"scope": scope.value, "key": gate.key, "reason": reason, "until": end and written(end)}
        call.audit(tx, _org_of(tx, scope, gate.key), facts)
        return GateView.model_validate(gates.held(tx, gate))


@GATES.deed("open", FLEET, events=("gate.opened",))
def open_gate(
    call: Call,
    scope: GateScope,
    key: str = WHOLE_FLEET,
    *,
    cause: Annotated[Cause | None, Field(description="Only what this cause closed.")] = None,
) -> OpenedGate:
    """Let jobs run again; those that no other gate keeps back are let out at once."""
    _check_scope(call, scope)
    if cause is Cause.MOVE:
        raise Invalid("cause", "is opened by the move itself; `orgs stay` takes a move back")
    with call.writing() as tx:
        opened = _open(tx, scope, key, cause)
        facts = {"scope": scope.value, "key": opened} | ({"cause": cause.value} if cause else {})
        call.audit(tx, _org_of(tx, scope, opened), facts)
    return OpenedGate(scope=scope, key=opened, cause=cause)


def _check_scope(call: Call, scope: GateScope) -> None:
    """Raise `Forbidden` for an operator of the console who would keep back, or let out, the jobs of everybody."""
    if scope is GateScope.FLEET:
        call.check_deed(OperatorRole.ADMIN)


def _open(tx: Transaction, scope: GateScope, key: str, cause: Cause | None) -> str:
    """Open the gate and return its key; a closed gate may be opened though its key names nothing any more."""
    if gates.open_gate(tx, scope, key, cause):
        return key
    known = _known_key(tx, scope, key)
    if known == key or not gates.open_gate(tx, scope, known, cause):
        raise Gone(f"the gate {scope} {key} is not closed" + (f" for the cause {cause.value}" if cause else ""))
    return known


def _org_of(tx: Transaction, scope: GateScope, key: str) -> UUID:
    """Whose log keeps it: the org's that the gate is about; the fleet's for what is of no org, or is gone."""
    return gates.org_of(tx, scope, key) or SYSTEM_ORG


def _known_key(tx: Transaction, scope: GateScope, key: str) -> str:
    """The key as the ledger compares it; raises `Invalid` for one that could never match."""
    if (scope is GateScope.FLEET) != (key == WHOLE_FLEET):
        raise Invalid("key", "the fleet has none, every other scope needs one")
    try:
        return KEYS[scope](tx, key)
    except Gone as gone:
        raise Invalid("key", gone.reason) from None
    except Invalid as invalid:
        raise Invalid("key", invalid.reason.removeprefix(f"{invalid.field}: ")) from None


def _one_of(key: str, kind: str, known: Iterable[str]) -> str:
    names = sorted(set(known))
    if key not in names:
        raise Invalid("key", f"{key} is no known {kind}; known are {', '.join(names)}")
    return key


def _queue(_tx: Transaction, key: str) -> str:
    if key not in list(Queue):
        raise Invalid("key", f"{key} is no known queue; known are {', '.join(Queue)}")
    return key


def _job_type(tx: Transaction, key: str) -> str:
    known = job_types.listed(tx)
    return next((one.name for one in known if key in one.aliases), None) or _one_of(
        key, "job type", (one.name for one in known)
    )


def _provider(tx: Transaction, key: str) -> str:
    return _one_of(key, "provider", (name for one in job_types.listed(tx) for name in one.providers))


def _org_at_provider(tx: Transaction, key: str) -> str:
    org, colon, provider = key.rpartition(":")
    if not colon:
        raise Invalid("key", "is the org's id or name, a colon and a provider's name")
    return f"{orgs.find(tx, org)}:{_provider(tx, provider)}"


KEYS: Mapping[GateScope, Callable[[Transaction, str], str]] = {
    GateScope.FLEET: lambda _tx, key: key,
    GateScope.QUEUE: _queue,
    GateScope.JOB_TYPE: _job_type,
    GateScope.ORG: lambda tx, key: str(orgs.find(tx, key)),
    GateScope.ACCOUNT: lambda tx, key: str(account_of(tx, key).account_id),
    GateScope.PROVIDER: _provider,
    GateScope.ORG_PROVIDER: _org_at_provider,
}
"""How the key of each scope is found."""


def _end(until: str | None, seconds: int | None, now: datetime) -> datetime | None:
    """When a gate opens by itself; None for never. Raises `Invalid` for an end in the past or beyond all calendars."""
    if until is not None and seconds is not None:
        raise Invalid("until", "give either a time or a number of seconds")
    if until is not None:
        end = parse_time(until, "until")
        if end <= now:
            raise Invalid("until", "is in the past")
        return end
    try:
        return now + timedelta(seconds=seconds) if seconds else None
    except OverflowError:
        raise Invalid("seconds", "ends after the year 9999") from None

"""Gates: what must not run now, why, and until when."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from uuid import UUID

from domain.jobs.contract import check_text
from domain.jobs.gate_causes import Cause
from storage.postgres.database import Transaction


@dataclass(frozen=True, slots=True)
class Gate:
    """One closed gate; without `until` it stays closed until somebody opens it."""

    scope: str
    key: str
    reason: str
    until: datetime | None
    actor: str
    cause: Cause = Cause.PAUSE


def close(tx: Transaction, gate: Gate) -> None:
    """Close a gate for its cause; of two closings for one cause the later end wins.

    So a short back-off never shortens a long one. What other causes closed under the same scope and key is not touched.
    """
    closing = asdict(gate) | {"cause": gate.cause.value, "reason": check_text("reason", gate.reason)}
    tx.raw("select postroom.close_gate(%(scope)s, %(key)s, %(cause)s, %(reason)s, %(until)s, %(actor)s)", closing)


def held(tx: Transaction, gate: Gate) -> Gate:
    """The gate of the same scope, key and cause as it is closed now: a later end than the given one may hold."""
    named = {"scope": gate.scope, "key": gate.key, "cause": gate.cause.value}
    known = "select reason, until, actor from gates where scope = %(scope)s and key = %(key)s and cause = %(cause)s"
    return replace(gate, **tx.raw(known, named)[0]._asdict())


def org_of(tx: Transaction, scope: str, key: str) -> UUID | None:
    """The org that a gate is about; None for one of the fleet, and where the org or the account is gone."""
    rows = tx.run("find_org_of_gate", scope=scope, key=key)
    return UUID(str(rows[0].org_id)) if rows else None


def open_gate(tx: Transaction, scope: str, key: str, cause: Cause | None = None) -> bool:
    """Open a gate for one cause, or for all but a move, and wake the relay; false when it was not closed.

    The jobs are let out when no cause keeps it closed any more.
    """
    return bool(tx.run("open_gate", scope=scope, key=key, cause=cause and cause.value))


def closed(tx: Transaction) -> Sequence[Gate]:
    """The first 10,000 gates that are closed now, one for each cause, by scope and key."""
    rows = tx.run("list_closed_gates", after_scope=None, after_key=None, after_cause=None, limit=10_000)
    return [Gate(row.scope, row.key, row.reason, row.until, row.actor, Cause(row.cause)) for row in rows]


def forget_ended(tx: Transaction) -> Sequence[str]:
    """Remove gates whose time is over; returns, as parked jobs name them, those that no other cause keeps closed."""
    return [row.name for row in tx.run("forget_ended_gates")]

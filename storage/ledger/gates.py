"""Gates: what must not run now, why, and until when."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from storage.postgres.database import Transaction


@dataclass(frozen=True, slots=True)
class Gate:
    """One closed gate; without `until` it stays closed until somebody opens it."""

    scope: str
    key: str
    reason: str
    until: datetime | None
    actor: str


def close(tx: Transaction, gate: Gate) -> None:
    """Close a gate; of two closings the later end wins, so that a short back-off never shortens a long pause."""
    tx.raw(
        "insert into gates as g (scope, key, reason, until, actor)"
        " values (%(scope)s, %(key)s, %(reason)s, %(until)s, %(actor)s)"
        " on conflict (scope, key) do update set reason = excluded.reason, until = excluded.until,"
        " actor = excluded.actor, closed_at = now()"
        " where coalesce(excluded.until, 'infinity') > coalesce(g.until, 'infinity') or g.until <= now()",
        {"scope": gate.scope, "key": gate.key, "reason": gate.reason, "until": gate.until, "actor": gate.actor},
    )


def open_gate(tx: Transaction, scope: str, key: str) -> bool:
    """Open a gate, and wake the relay to let out what waits; false when it was not closed."""
    rows = tx.raw(
        "update gates set until = now() where scope = %(scope)s and key = %(key)s and (until is null or until > now())"
        " returning key, pg_notify('postroom_due', 'gate')",
        {"scope": scope, "key": key},
    )
    return bool(rows)


def closed(tx: Transaction) -> Sequence[Gate]:
    """All gates that are closed now."""
    rows = tx.raw(
        "select scope, key, reason, until, actor from gates where until is null or until > now() order by scope, key"
    )
    return [Gate(r.scope, r.key, r.reason, r.until, r.actor) for r in rows]


def forget_ended(tx: Transaction) -> Sequence[str]:
    """Remove gates whose time is over; returns their names as parked jobs have them."""
    rows = tx.raw("delete from gates where until <= now() returning 'gate:' || scope || ':' || key as name")
    return [row.name for row in rows]

"""An org's own credentials at a provider: whether it has any, and since when the provider refuses them."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from domain.jobs.gate_causes import Cause
from storage.jobs import gates
from storage.postgres.database import Transaction

OPENED = (Cause.CONSENT, Cause.SLOW_DOWN)
"""What new credentials open: the loss of the old ones, and what the provider made their owner wait for."""


@dataclass(frozen=True, slots=True)
class OrgCredentials:
    """What is known of the credentials themselves; the secret stands elsewhere."""

    set_at: datetime | None
    """Tells them from earlier and later ones; None where the org has given none."""
    lost_at: datetime | None = None
    lost_code: str | None = None


def find(tx: Transaction, org_id: UUID, provider: str) -> OrgCredentials:
    """The credentials as they are now."""
    rows = tx.run("find_org_credentials", org_id=org_id, provider=provider)
    return OrgCredentials(**rows[0]._asdict()) if rows else OrgCredentials(None)


def lose(tx: Transaction, org_id: UUID, provider: str, *, set_at: datetime | None, code: str) -> bool:
    """Write that a provider refuses the credentials that were set then; true only the first time of each loss.

    False, too, when others have been set meanwhile (`find`).
    """
    return bool(tx.run("lose_org_credentials", org_id=org_id, provider=provider, set_at=set_at, code=code))


def replace(tx: Transaction, org_id: UUID, provider: str) -> datetime:
    """Write that the org has given others, and let the jobs go on that waited for them; returns their `set_at`.

    For the ledger role. What a person has paused stays so.
    """
    set_at: datetime = tx.run("set_org_credentials", org_id=org_id, provider=provider)[0].set_at
    for cause in OPENED:
        gates.open_gate(tx, "org_provider", f"{org_id}:{provider}", cause)
    return set_at

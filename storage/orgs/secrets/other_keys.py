"""Tokens and secrets that this process cannot open, because it was not given the key that sealed them."""

from dataclasses import dataclass

from storage.orgs.secrets.sealing import Sealer
from storage.postgres.database import Transaction

REMEDY = "put that key into POSTROOM_SEALING_KEYS, behind the new one, and start every process anew"


@dataclass(frozen=True, slots=True)
class UnknownSeals:
    """How many records are sealed by keys that are not in the settings."""

    mailboxes: int
    secrets: int


def count(tx: Transaction, sealer: Sealer) -> UnknownSeals:
    """Count what none of the sealer's keys opens."""
    rows = tx.run("count_seals_of_other_keys", key_ids=list(sealer.key_ids))
    return UnknownSeals(**rows[0]._asdict())

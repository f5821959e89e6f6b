"""Claims that go back: of processes that fell silent or stop, and those whose answer was lost."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from domain.jobs.lifecycle import MAX_LOSSES
from storage.ledger.ledger import Moved, woken
from storage.postgres.database import Transaction
from storage.postgres.execution import Row


def rescue(tx: Transaction, *, batch: int) -> Moved:
    """Take back the jobs of silent processes and of attempts past their deadline; poison becomes dead."""
    return _moved(tx.run("rescue_jobs", batch=batch, max_losses=MAX_LOSSES))


def return_claims(tx: Transaction, node_id: UUID, lease: timedelta) -> Moved:
    """Give back every job of a node that stops; no attempt is spent."""
    return _moved(tx.run("return_claims", node_id=node_id, tokens=[], lease=lease, cause="shutdown"))


def return_unanswered(tx: Transaction, tokens: Sequence[UUID], lease: timedelta) -> Moved:
    """Give back what was claimed by these tokens, because nobody knows what it was; no attempt is spent."""
    return _moved(tx.run("return_claims", node_id=None, tokens=list(tokens), lease=lease, cause="unanswered"))


def _moved(rows: Sequence[Row]) -> Moved:
    return Moved(frozenset(row.id for row in rows if row.what != "woken"), woken(rows))

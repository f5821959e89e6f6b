"""Our own writes on their way back: expected before the call, recognised in the history that follows.

An expectation about one message answers one history record, and the same record when history is read again; somebody
else doing the same later is news. An expectation about a thread answers one record for each message until it expires.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from domain.mail.mailbox import Change, ChangeKind
from storage.postgres.database import Transaction
from storage.postgres.retention import Retention
from storage.postgres.transaction import as_they_are

KEEP = timedelta(hours=1)
"""History comes within seconds; after an hour an equal change is more likely a person's."""

REMEMBER = timedelta(days=7)
"""How long an order by a label, whose job waits, can tell that we took the label off, and not its person."""

RETENTION = Retention("expected_writes", "expires_at")

OWN_REMOVALS = """
select from expected_writes
where account_id = %(account)s and change = 'labels_removed' and created_at >= %(since)s
  and expires_at > created_at + %(keep)s
  and gmail_message_id = any (%(messages)s::text[]) and gmail_label_id = any (%(labels)s::text[])
limit 1
"""

_LABEL_CHANGES = frozenset({"labels_added", "labels_removed"})


@dataclass(frozen=True, slots=True)
class ExpectedWrite:
    """One change that a call of ours will cause, in a thread or in one message; label changes name the label."""

    change: ChangeKind
    thread_id: str | None = None
    message_id: str | None = None
    label_id: str | None = None


def expect(tx: Transaction, account_id: UUID, writes: Sequence[ExpectedWrite], *, remember: timedelta = KEEP) -> None:
    """Store the changes that a call will cause; commit them before the call.

    With `remember` it stays known for so long, for `took_off`, which labels it takes off.
    """
    tx.leave(
        "expect_writes",
        as_they_are,
        account_id=account_id,
        keep=KEEP,
        remember=remember,
        changes=[write.change for write in writes],
        threads=[write.thread_id for write in writes],
        messages=[write.message_id for write in writes],
        labels=[write.label_id for write in writes],
    )


class HistoryParts(NamedTuple):
    """The changes of a part of history; a label change keeps only the labels that it is about."""

    others: tuple[Change, ...]
    """Those that are none of ours: news."""
    by_actions: tuple[Change, ...]
    """Labels that a call of ours took off which is not to be remembered: an action's. One that an undo has put back
    since is none of them, on whichever page history tells of the undo."""


def tell_apart(tx: Transaction, account_id: UUID, changes: Sequence[Change]) -> HistoryParts:
    """Tell the changes that are our own, which are no news, from those of others."""
    labelled = [(place, label) for place, change in enumerate(changes) for label in _labels(change)]
    rows = tx.run(
        "match_expected_writes",
        account_id=account_id,
        keep=KEEP,
        places=[place for place, _ in labelled],
        history_ids=[changes[place].history_id for place, _ in labelled],
        changes=[changes[place].kind for place, _ in labelled],
        threads=[changes[place].thread_id for place, _ in labelled],
        messages=[changes[place].message_id for place, _ in labelled],
        labels=[label for _, label in labelled],
    )
    ours = {(row.place, row.label_id) for row in rows}
    left = (_without(change, place, ours) for place, change in enumerate(changes))
    removals = [row for row in rows if changes[row.place].kind == "labels_removed" and not row.is_put_back]
    passing = [row for row in removals if not row.is_remembered]
    return HistoryParts(
        others=tuple(change for change in left if change is not None),
        by_actions=tuple(replace(changes[row.place], label_ids=frozenset({row.label_id})) for row in passing),
    )


def took_off(
    tx: Transaction, account_id: UUID, message_ids: Sequence[str], label_ids: Collection[str], *, since: datetime
) -> bool:
    """Whether a call of ours that is to be remembered took one of these labels off one of these messages since then.

    It is known for as long as that (`REMEMBER`). An action's call, which is made for who asked for it, is not of these.
    """
    values = {"account": account_id, "messages": list(message_ids), "labels": sorted(label_ids)}
    values |= {"since": since, "keep": KEEP}
    return bool(tx.raw(OWN_REMOVALS, values))


def _labels(change: Change) -> list[str | None]:
    return [*sorted(change.label_ids)] if change.kind in _LABEL_CHANGES else [None]


def _without(change: Change, place: int, ours: set[tuple[int, str | None]]) -> Change | None:
    if change.kind not in _LABEL_CHANGES:
        return None if (place, None) in ours else change
    left = frozenset(label for label in change.label_ids if (place, label) not in ours)
    return replace(change, label_ids=left) if left else None

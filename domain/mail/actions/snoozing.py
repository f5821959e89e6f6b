"""Of several snoozes of a message the last counts; one that was undone does not (docs: actions.md#snooze)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from domain.jobs.failures import Invalid
from domain.mail.actions.action import LabelWish
from domain.mail.actions.kinds import ActionKind
from domain.mail.actions.status import ActionStatus
from domain.mail.actions.undo_hint import UndoHint, UndoPlan, plan_undo
from domain.mail.mailbox import INBOX
from domain.payloads.actions import UnsnoozePayload

RECONNECTED_WITHIN = timedelta(days=30)
"""How long a message waits for its account to be connected again: after a month a person who comes back looks through
the label of snoozed messages anyway."""

_AT_WORK = frozenset({ActionStatus.EXECUTING, ActionStatus.DONE})
"""A snooze that is being carried out has ordered the job that wakes the message, whatever becomes of it."""


@dataclass(frozen=True, slots=True)
class PastSnooze:
    """One snooze of a message, and until when it holds it; None where it has not come so far."""

    action_id: UUID
    status: ActionStatus
    asked_at: datetime
    until: datetime | None
    label_id: str | None = None
    """Which label it put on the message, by the id that the label has now."""

    def is_before(self, other: "PastSnooze") -> bool:
        """Whether this one was asked for before another."""
        return (self.asked_at, self.action_id) < (other.asked_at, other.action_id)


def check_wake(payload: UnsnoozePayload, kind: ActionKind, message_id: str, hint: UndoHint | None) -> None:
    """Raise `Invalid` for an order to wake another message than was snoozed, or to take another label off."""
    if kind is not ActionKind.SNOOZE:
        raise Invalid("action_id", f"is an action of the kind {kind}, and no snooze")
    if payload.message_id != message_id:
        raise Invalid("message_id", "is another message than was snoozed")
    kept = hint.snooze_label_id if hint else None
    if kept is not None and payload.snooze_label_id not in {None, kept}:
        raise Invalid("snooze_label_id", "is another label than the snooze put on")


def is_undecided(snooze: PastSnooze, others: Iterable[PastSnooze]) -> bool:
    """Whether this snooze or a later one is still being carried out, so that nobody knows yet which one counts."""
    return any(
        one.status is ActionStatus.EXECUTING and (one.action_id == snooze.action_id or snooze.is_before(one))
        for one in others
    )


def why_not_wake(snooze: PastSnooze, others: Iterable[PastSnooze]) -> str | None:
    """Why the message is not brought back at this snooze's time, or None: it was undone, or a later one counts.

    A later one whose time has passed has brought the message back; what its person did with it since, stays.
    """
    if snooze.status is ActionStatus.UNDONE:
        return "the snooze was undone"
    later = [one for one in others if one.status is ActionStatus.DONE and one.until and snooze.is_before(one)]
    if not later:
        return None
    until = _last(later).until
    return f"the message was snoozed again until {until.isoformat() if until else 'later'}"


def held_until(snooze: PastSnooze, others: Iterable[PastSnooze], now: datetime) -> datetime | None:
    """Until when a later snooze keeps the message away, so that the undo of this one brings nothing back; else None."""
    later = [one for one in others if one.status in _AT_WORK and one.until and snooze.is_before(one)]
    until = _last(later).until if later else None
    return until if until is not None and until > now else None


def comes_back(snooze: PastSnooze, hint: UndoHint, others: Iterable[PastSnooze], now: datetime) -> bool:
    """Whether the undo of a snooze brings the message back, although it was away before.

    An earlier snooze had put it there, and keeps it no longer: it was undone, or its time has passed and its job has
    left the message to the later one.
    """
    before = hint.labels_before or ()
    known = tuple(others)
    is_awake = hint.snooze_until is not None and hint.snooze_until <= now
    asleep = {hint.snooze_label_id, *labels_before(snooze, known)}
    if is_awake or asleep.isdisjoint(before) or INBOX in before:
        return False
    earlier = [one for one in known if one.until and one.is_before(snooze)]
    done = [one for one in earlier if one.status is ActionStatus.DONE]
    until = _last(done).until if done else None
    return bool(earlier) and (until is None or until <= now)


def labels_before(snooze: PastSnooze, others: Iterable[PastSnooze]) -> frozenset[str]:
    """The labels that earlier snoozes put on the message: the last to wake it takes them all off."""
    return frozenset(one.label_id for one in others if one.label_id and one.until and one.is_before(snooze))


def left_label(snooze: PastSnooze, hint: UndoHint, others: Iterable[PastSnooze]) -> frozenset[str]:
    """The label that the undo of a snooze takes off although a later one holds the message: one of its own.

    A label that another snooze has put on as well stays, as does one that the message carried before.
    """
    shared = {one.label_id for one in others if one.status in _AT_WORK and one.action_id != snooze.action_id}
    if snooze.label_id is None or hint.snooze_label_id not in hint.inverse_parameters.remove_labels:
        return frozenset()
    return frozenset({snooze.label_id} - shared)


def plan_unsnooze(snooze: PastSnooze, hint: UndoHint, others: Iterable[PastSnooze], now: datetime) -> UndoPlan:
    """What the undo of a snooze changes on its message."""
    known = tuple(others)
    if held_until(snooze, known, now) is not None:
        return UndoPlan(None, LabelWish(frozenset(), left_label(snooze, hint, known)))
    move, wish = plan_undo(hint)
    if hint.snooze_label_id and comes_back(snooze, hint, known, now):
        wish = LabelWish(wish.add | {INBOX}, wish.remove | {hint.snooze_label_id} | labels_before(snooze, known))
    return UndoPlan(move, wish)


def is_given_up(snooze: PastSnooze, now: datetime) -> bool:
    """Whether the account of a message that should be awake was disconnected for so long that nobody waits for it."""
    return now - (snooze.until or snooze.asked_at) > RECONNECTED_WITHIN


def _last(snoozes: Iterable[PastSnooze]) -> PastSnooze:
    return max(snoozes, key=lambda one: (one.asked_at, one.action_id))

"""What an owner corrected by taking a label off, and how the model is told of it (docs: triage.md#corrections)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from domain.clean_text import clean_text
from domain.mail.mail_fence import one_line
from domain.mail.mailbox import Change
from domain.payloads.mail_address import Address, address_key

KEPT = timedelta(days=90)
"""A correction is told this long. Habits change; whoever wants it for ever writes a rule."""
MOST_READ = 200
"""The latest corrections that are looked at for one message."""
MOST_TOLD = 10
"""Lines for the model. Each line stands for all corrections of its kind."""
LONGEST_NAME = 100

_SYSTEM = frozenset({"INBOX", "UNREAD", "STARRED", "IMPORTANT", "SENT", "DRAFT", "SPAM", "TRASH", "CHAT"})
_CATEGORY = "CATEGORY_"


@dataclass(frozen=True, slots=True)
class Removal:
    """Somebody took a label off a message; `moved_to` is the label that came in its place."""

    message_id: str
    label_id: str
    moved_to: str | None = None


@dataclass(frozen=True, slots=True)
class Correction:
    """A label of ours that the owner took off a message; labels by name, the sender as an address."""

    message_id: str
    sender: str | None
    label: str
    moved_to: str | None
    classification: str
    at: datetime


def removals_in(changes: Iterable[Change]) -> tuple[Removal, ...]:
    """The labels of people's own making that were taken off, in changes that are none of ours.

    Gmail's own labels come and go with reading and archiving and say nothing about a decision.
    """
    seen = tuple(changes)
    added = {one.message_id: _own(one) for one in seen if one.kind == "labels_added" and _own(one)}
    found: dict[tuple[str, str], Removal] = {}
    for change in seen:
        if change.kind == "labels_removed":
            for label_id in _own(change):
                others = [one for one in added.get(change.message_id, []) if one != label_id]
                key = (change.message_id, label_id)
                found.setdefault(key, Removal(*key, others[0] if others else None))
    return tuple(found.values())


def correction_lines(corrections: Sequence[Correction], sender: Address | None) -> tuple[str, ...]:
    """What the model is told, the nearest to this message's sender first.

    Nothing of a corrected mail is in it: not its text, its subject or its sender, who may have chosen an address that
    reads like an order. There are only label names, which are the owner's, our own words, and numbers.
    """
    counted = Counter((_nearness(one, sender), one.label, one.moved_to, one.classification) for one in corrections)
    order = sorted(counted.items(), key=lambda item: (item[0][0], -item[1], str(item[0])))
    return tuple(_line(*kind, count) for kind, count in order[:MOST_TOLD])


_WHOSE = ("of this sender", "of this sender's domain", "of other senders")


def _nearness(correction: Correction, sender: Address | None) -> int:
    """Place in `_WHOSE`."""
    corrected = address_key(correction.sender or "")
    if sender is None or not corrected:
        return 2
    if corrected == sender.key:
        return 0
    return 1 if sender.domain and corrected.rpartition("@")[2] == sender.domain else 2


def _line(nearness: int, label: str, moved_to: str | None, classification: str, count: int) -> str:
    times = "once" if count == 1 else f"{count} times"
    instead = f", and put {_quoted(moved_to)} there instead" if moved_to else ""
    return f"Taken off mail {_WHOSE[nearness]} {times}: {_quoted(label)}, decided as {classification}{instead}."


def _quoted(name: str) -> str:
    return '"' + one_line(clean_text(name)).replace('"', "'")[:LONGEST_NAME] + '"'


def _own(change: Change) -> list[str]:
    return sorted(one for one in change.label_ids if one not in _SYSTEM and not one.startswith(_CATEGORY))

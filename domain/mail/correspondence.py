"""The life of an e-mail that wants an answer: one table, and the labels that show it (docs: drafts.md)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from domain.mail.mailbox import MailboxLabel
from domain.orgs.spelling.normal_form import normal_form

DEFAULT_PARENT = "Postroom"
MOST_REWORKS = 3


class EmailState(StrEnum):
    """Where an e-mail stands."""

    PENDING = "pending"
    DRAFTED = "drafted"
    REWORK_REQUESTED = "rework_requested"
    SENT = "sent"
    ARCHIVED = "archived"
    SKIPPED = "skipped"


SETTLED = frozenset({EmailState.SENT, EmailState.ARCHIVED, EmailState.SKIPPED})
"""Nothing is expected any more; a new message in the thread may open the record again."""

DRAFT_OUT = frozenset({EmailState.DRAFTED, EmailState.REWORK_REQUESTED})
"""The mailbox has a machine draft."""


class EmailEvent(StrEnum):
    """What can happen to an e-mail."""

    CLASSIFIED = "classified"
    """It needs a response; the record begins."""
    DRAFT_WRITTEN = "draft_written"
    REWORK_ASKED = "rework_asked"
    DRAFT_SENT = "draft_sent"
    DONE = "done"
    """The person put Done on the thread."""
    SKIPPED = "skipped"
    """No response needed, answered without our draft, or draft thrown away."""
    REWORK_REFUSED = "rework_refused"
    """The draft stays as it is: a person's words are in it, or the model gave none that can be used."""
    REWORKS_EXHAUSTED = "reworks_exhausted"
    """After the third rework a person takes over (docs: seeds.md#000-77)."""
    REOPENED = "reopened"
    """A person asked for a draft by hand, or a new message came into a finished thread."""


class LabelRole(StrEnum):
    """What a label of ours means; the value is the last part of its default name."""

    NEEDS_RESPONSE = "Needs Response"
    OUTBOX = "Outbox"
    REWORK = "Rework"
    ACTION_REQUIRED = "Action Required"
    DONE = "Done"
    SNOOZED = "Snoozed"


@dataclass(frozen=True, slots=True)
class LabelPlan:
    """Which of our labels a thread gets and loses; `archive` takes it out of the inbox."""

    add: frozenset[LabelRole] = frozenset()
    remove: frozenset[LabelRole] = frozenset()
    archive: bool = False


_MOVES: dict[tuple[EmailState, EmailEvent], EmailState] = {
    (EmailState.PENDING, EmailEvent.CLASSIFIED): EmailState.PENDING,
    (EmailState.PENDING, EmailEvent.DRAFT_WRITTEN): EmailState.DRAFTED,
    # Again, by an attempt that comes after the record and before the labels.
    (EmailState.DRAFTED, EmailEvent.DRAFT_WRITTEN): EmailState.DRAFTED,
    # The draft was made, its record was lost with a process, and the person has sent the draft since.
    (EmailState.PENDING, EmailEvent.DRAFT_SENT): EmailState.SENT,
    (EmailState.DRAFTED, EmailEvent.REWORK_ASKED): EmailState.REWORK_REQUESTED,
    # Again, by an attempt that comes after the intent and before the new draft.
    (EmailState.REWORK_REQUESTED, EmailEvent.REWORK_ASKED): EmailState.REWORK_REQUESTED,
    (EmailState.REWORK_REQUESTED, EmailEvent.DRAFT_WRITTEN): EmailState.DRAFTED,
    (EmailState.DRAFTED, EmailEvent.REWORK_REFUSED): EmailState.DRAFTED,
    (EmailState.REWORK_REQUESTED, EmailEvent.REWORK_REFUSED): EmailState.DRAFTED,
    (EmailState.DRAFTED, EmailEvent.DRAFT_SENT): EmailState.SENT,
    (EmailState.REWORK_REQUESTED, EmailEvent.DRAFT_SENT): EmailState.SENT,
    # Needs Response put on a finished thread by hand must lead to a draft (docs: seeds.md#000-39).
    (EmailState.SENT, EmailEvent.REOPENED): EmailState.PENDING,
    (EmailState.ARCHIVED, EmailEvent.REOPENED): EmailState.PENDING,
    (EmailState.SKIPPED, EmailEvent.REOPENED): EmailState.PENDING,
    **{(state, EmailEvent.DONE): EmailState.ARCHIVED for state in EmailState},
    **{(state, EmailEvent.SKIPPED): EmailState.SKIPPED for state in EmailState},
    **{(state, EmailEvent.REWORKS_EXHAUSTED): EmailState.SKIPPED for state in EmailState},
}

ORDERING = frozenset({LabelRole.NEEDS_RESPONSE, LabelRole.REWORK})
"""The labels by which a person orders a thread's first draft."""

_WORKING = frozenset({LabelRole.NEEDS_RESPONSE, LabelRole.OUTBOX, LabelRole.REWORK})
_PLANS = {
    EmailEvent.CLASSIFIED: LabelPlan(add=frozenset({LabelRole.NEEDS_RESPONSE})),
    EmailEvent.DRAFT_WRITTEN: LabelPlan(
        add=frozenset({LabelRole.OUTBOX}),
        # What an earlier refusal asked of the person is done by the new draft.
        remove=frozenset({LabelRole.NEEDS_RESPONSE, LabelRole.REWORK, LabelRole.ACTION_REQUIRED}),
    ),
    EmailEvent.REWORK_ASKED: LabelPlan(),
    EmailEvent.REWORK_REFUSED: LabelPlan(
        add=frozenset({LabelRole.ACTION_REQUIRED}), remove=frozenset({LabelRole.REWORK})
    ),
    EmailEvent.DRAFT_SENT: LabelPlan(remove=_WORKING | {LabelRole.ACTION_REQUIRED}),
    EmailEvent.DONE: LabelPlan(remove=_WORKING | {LabelRole.ACTION_REQUIRED, LabelRole.DONE}, archive=True),
    EmailEvent.SKIPPED: LabelPlan(remove=_WORKING),
    EmailEvent.REWORKS_EXHAUSTED: LabelPlan(add=frozenset({LabelRole.ACTION_REQUIRED}), remove=_WORKING),
    EmailEvent.REOPENED: LabelPlan(remove=frozenset({LabelRole.DONE})),
}
_SLASHES = re.compile(" ?/ ?")


def move(state: EmailState, event: EmailEvent) -> EmailState | None:
    """The state after an event, or None when the table has no such move and nothing may be written."""
    return _MOVES.get((state, event))


def label_plan(event: EmailEvent) -> LabelPlan:
    """The labels that show an event on its thread; never put them on a draft message (docs: gmail.md#drafts)."""
    return _PLANS[event]


def may_rework(reworks_done: int) -> bool:
    """Whether another rework is allowed."""
    return reworks_done < MOST_REWORKS


def label_name(role: LabelRole, parent: str = DEFAULT_PARENT) -> str:
    """The full name of a label; make its parent first (docs: gmail.md#labels)."""
    return f"{parent}/{role.value}"


def label_key(name: str) -> str:
    """A label name as it is compared: as texts are, and without blanks around the slash."""
    return _SLASHES.sub("/", normal_form(name)).strip()


def match_roles(labels: Iterable[MailboxLabel], parent: str = DEFAULT_PARENT) -> dict[LabelRole, str]:
    """Which existing user labels are ours, as role to label id; the first of two look-alikes wins."""
    roles = {label_key(label_name(role, parent)): role for role in LabelRole}
    matched: dict[LabelRole, str] = {}
    for label in labels:
        role = roles.get(label_key(label.name))
        if role is not None and label.kind == "user":
            matched.setdefault(role, label.label_id)
    return matched

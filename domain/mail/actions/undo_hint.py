"""How an executed action is taken back: the labels from before it, and the inverse that restores them."""

from collections.abc import Collection
from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from domain.jobs.failures import Conflict
from domain.jobs.job import JsonObject
from domain.mail.actions.action import Action, LabelWish
from domain.mail.actions.kinds import ActionKind, Inverse
from domain.mail.actions.status import ActionStatus
from domain.mail.invalid_fields import invalid_from
from domain.mail.mailbox import BINS, INBOX, SPAM, TRASH

PLACES = frozenset({INBOX, SPAM})
"""What trash and untrash may change besides TRASH (docs: gmail.md#trash)."""

Labels = Annotated[tuple[str, ...], Field(max_length=1000)]


class InverseParameters(BaseModel):
    """What the inverse does; label ids in order, so that equal hints are stored equally."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    add_labels: Labels = ()
    remove_labels: Labels = ()
    cancel_unsnooze_job_id: UUID | None = None


class UndoHint(BaseModel):
    """An action's `undo_hint` (docs: seeds.md#001-103), written when it is done."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    action: ActionKind
    inverse_action: Inverse
    inverse_parameters: InverseParameters = InverseParameters()
    irreversible: bool
    labels_before: Labels | None = None
    """The message's labels when the action began: the pre-image."""
    snooze_until: datetime | None = None
    snooze_label: str | None = None
    snooze_label_id: str | None = None
    unsnooze_job_id: UUID | None = None
    sent_message_id: str | None = None

    @model_validator(mode="after")
    def _irreversible_has_no_inverse(self) -> "UndoHint":
        if self.irreversible != (self.inverse_action is Inverse.NONE):
            raise ValueError("irreversible goes with the inverse none")
        return self

    def document(self) -> JsonObject:
        """As it is stored."""
        return self.model_dump(mode="json", exclude_none=True)


def irreversible(kind: ActionKind, *, sent_message_id: str | None = None) -> UndoHint:
    """The hint of what cannot be taken back."""
    return UndoHint(action=kind, inverse_action=Inverse.NONE, irreversible=True, sent_message_id=sent_message_id)


def change_of(before: Collection[str], wish: LabelWish) -> LabelWish:
    """What a wish changes on a message that carries these labels; what is so already is left out."""
    carried = frozenset(before)
    return LabelWish(wish.add - carried, (wish.remove - wish.add) & carried)


def kept_away(wish: LabelWish, carried: Collection[str]) -> LabelWish:
    """The same wish, where nothing comes back to the inbox that its person has thrown away or called spam since."""
    left = frozenset(carried) - wish.remove
    return wish if left.isdisjoint(BINS) else wish._replace(add=wish.add - {INBOX})


def applied(before: Collection[str], change: LabelWish) -> frozenset[str]:
    """The labels after a change, as Gmail has it: what is both added and removed is added."""
    return (frozenset(before) - change.remove) | change.add


def hint_for(action: Action, before: Collection[str], after: Collection[str]) -> UndoHint:
    """The hint of an action that led from these labels to those; TRASH is moved by trash and untrash alone."""
    if not action.is_reversible:
        return irreversible(action.kind)
    was, now = frozenset(before), frozenset(after)
    if action.inverse in {Inverse.RESTORE, Inverse.TRASH}:
        # Whatever the move back does to them, too.
        was = was & PLACES
        now = PLACES - was
    return UndoHint(
        action=action.kind,
        inverse_action=action.inverse,
        inverse_parameters=InverseParameters(
            add_labels=tuple(sorted(was - now)), remove_labels=tuple(sorted(now - was))
        ),
        irreversible=False,
        labels_before=tuple(sorted(before)),
    )


class UndoPlan(NamedTuple):
    """How to take an action back: a move out of the trash or into it, then labels."""

    move: Inverse | None
    labels: LabelWish


def read_hint(stored: JsonObject | None) -> UndoHint:
    """A stored hint; raises `Conflict` without one, and `Invalid` for one that cannot be read."""
    if stored is None:
        raise Conflict("the action has no undo_hint: it cannot be undone", code="action.not_undoable")
    try:
        return UndoHint.model_validate(stored)
    except ValidationError as error:
        raise invalid_from(error, "undo_hint") from error


def check_undoable(kind: ActionKind, status: ActionStatus, stored: JsonObject | None) -> UndoHint:
    """The hint of an action that can be undone now; raises `Conflict` with the reason why it cannot."""
    if kind is ActionKind.UNDO:
        raise Conflict("an undo cannot be undone: ask for the action again", code="action.not_undoable")
    if status is ActionStatus.UNDONE:
        raise Conflict("the action is undone already", code="action.not_undoable")
    if status is not ActionStatus.DONE:
        raise Conflict(f"the action is {status}: only what is done can be undone", code="action.not_undoable")
    hint = read_hint(stored)
    if hint.irreversible:
        raise Conflict(f"{hint.action} cannot be undone", code="action.not_undoable")
    return hint


def plan_undo(hint: UndoHint) -> UndoPlan:
    """What restores the labels from before an action on a message.

    Labels that others have changed since are left to them. The move out of the trash or into it comes first; what it
    does to other labels differs from mailbox to mailbox, so the change of labels is made on what it leaves. A message
    that is there already is not moved; its labels are stored all the same: an attempt that died may have moved it.
    """
    wish = LabelWish(frozenset(hint.inverse_parameters.add_labels), frozenset(hint.inverse_parameters.remove_labels))
    if hint.inverse_action not in {Inverse.RESTORE, Inverse.TRASH}:
        return UndoPlan(None, wish)
    was_in_trash = TRASH in (hint.labels_before or ())
    return UndoPlan(Inverse.TRASH if was_in_trash else Inverse.RESTORE, wish)

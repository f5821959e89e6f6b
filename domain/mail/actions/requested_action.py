"""The actions that a rule, a model or a caller may ask for, and how they are written and read.

A stored action keeps the version of its parameters: a worker of another release must know whether it can read them.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)

from domain.jobs.contract import LARGEST_PAYLOAD
from domain.jobs.failures import Invalid
from domain.mail.actions.action import Action
from domain.mail.actions.action_files import FIELD as FILES
from domain.mail.actions.action_files import AttachmentFacts, Attachments, base64_size
from domain.mail.actions.kinds import ActionKind, Danger, Inverse
from domain.mail.actions.label_actions import (
    ApplyLabel,
    Archive,
    MarkRead,
    MarkUnread,
    RemoveLabel,
    Star,
    Unstar,
)
from domain.mail.actions.snooze import Snooze
from domain.mail.invalid_fields import invalid_from
from domain.orgs.privacy.secrets import secret_in
from domain.payloads.mail_address import writable_address

VERSION = 1
"""The version of the parameters that this release writes and reads."""

LARGEST_MAIL = LARGEST_PAYLOAD - 12_000
"""Of the words and the files in base64, in bytes. The order to send adds whom it answers, and must fit into a payload:
what a person approves can be sent."""

MOST_RECIPIENTS = 20
"""Of one forward, `to` and `cc` each: more is a mailing, which no rule and no model may start."""


class Trash(Action):
    """Move a message to the trash, which Gmail empties after thirty days."""

    danger = Danger.REVERSIBLE
    inverse = Inverse.RESTORE
    kind: Literal[ActionKind.TRASH] = ActionKind.TRASH


class Restore(Action):
    """Take a message out of the trash."""

    danger = Danger.SAFE
    inverse = Inverse.TRASH
    kind: Literal[ActionKind.RESTORE] = ActionKind.RESTORE


class Delete(Action):
    """Delete a message for good."""

    danger = Danger.DANGEROUS
    inverse = Inverse.NONE
    kind: Literal[ActionKind.DELETE] = ActionKind.DELETE


Recipient = Annotated[str, AfterValidator(writable_address)]


def _carries_no_secret(text: str) -> str:
    if secret_in(text) is not None:
        raise ValueError("holds what looks like a secret")
    return text


Text = Annotated[str, StringConstraints(min_length=1, max_length=10_000), AfterValidator(_carries_no_secret)]


class Forward(Action):
    """Send a message on to others, with a note above it."""

    danger = Danger.DANGEROUS
    inverse = Inverse.NONE
    kind: Literal[ActionKind.FORWARD] = ActionKind.FORWARD
    to: Annotated[tuple[Recipient, ...], Field(min_length=1, max_length=MOST_RECIPIENTS)]
    cc: Annotated[tuple[Recipient, ...], Field(max_length=MOST_RECIPIENTS)] = ()
    note: Text | None = None


class AutoReply(Action):
    """Send an answer of given words to the sender of a message."""

    danger = Danger.DANGEROUS
    inverse = Inverse.NONE
    kind: Literal[ActionKind.AUTO_REPLY] = ActionKind.AUTO_REPLY
    text: Text


class ForwardWithAttachments(Forward):
    """A forward with files besides the original's. Only a caller that gives their content may ask for it."""

    attachments: Attachments


class AutoReplyWithAttachments(AutoReply):
    """An answer with files. Only a caller that gives their content may ask for it."""

    attachments: Attachments


class Undo(Action):
    """Take another action back."""

    danger = Danger.SAFE
    inverse = Inverse.NONE
    kind: Literal[ActionKind.UNDO] = ActionKind.UNDO
    original_action_id: UUID


CLASSES: Mapping[ActionKind, type[Action]] = {
    ActionKind.ARCHIVE: Archive,
    ActionKind.APPLY_LABEL: ApplyLabel,
    ActionKind.REMOVE_LABEL: RemoveLabel,
    ActionKind.MARK_READ: MarkRead,
    ActionKind.MARK_UNREAD: MarkUnread,
    ActionKind.STAR: Star,
    ActionKind.UNSTAR: Unstar,
    ActionKind.TRASH: Trash,
    ActionKind.RESTORE: Restore,
    ActionKind.DELETE: Delete,
    ActionKind.SNOOZE: Snooze,
    ActionKind.FORWARD: Forward,
    ActionKind.AUTO_REPLY: AutoReply,
    ActionKind.UNDO: Undo,
}

WITH_FILES: Mapping[ActionKind, type[Action]] = {
    ActionKind.FORWARD: ForwardWithAttachments,
    ActionKind.AUTO_REPLY: AutoReplyWithAttachments,
}


def files_of(action: Action) -> tuple[AttachmentFacts, ...]:
    """The files that an action names."""
    return action.attachments if isinstance(action, ForwardWithAttachments | AutoReplyWithAttachments) else ()


def _renamed(value: object) -> object:
    """A label's id may be named `label` (docs: seeds.md#001-102)."""
    if not isinstance(value, dict) or value.get("kind") not in {ActionKind.APPLY_LABEL, ActionKind.REMOVE_LABEL}:
        return value
    return {("label_id" if name == "label" else name): one for name, one in value.items()}


RequestedAction = Annotated[
    Annotated[
        Archive
        | ApplyLabel
        | RemoveLabel
        | MarkRead
        | MarkUnread
        | Star
        | Unstar
        | Trash
        | Restore
        | Delete
        | Snooze
        | Forward
        | AutoReply,
        Discriminator("kind"),
    ],
    BeforeValidator(_renamed),
]
"""Any action but an undo, as a document `{"kind": …, <parameters>}`."""

KINDS = tuple(str(kind) for kind in ActionKind if kind is not ActionKind.UNDO)
"""What may be asked for."""

_REQUESTED: TypeAdapter[RequestedAction] = TypeAdapter(RequestedAction)


def parse_action(document: object) -> RequestedAction:
    """An action that somebody asks for; raises `Invalid(field, reason)`."""
    if not isinstance(document, dict):
        raise Invalid("kind", "is given in an object, with the parameters of the action beside it")
    if document.get("kind") not in KINDS:
        raise Invalid("kind", f"is none of {', '.join(KINDS)}")
    try:
        return _REQUESTED.validate_python(document)
    except ValidationError as error:
        raise _without_kind(invalid_from(error, "kind")) from error


def with_files(action: RequestedAction, files: Sequence[AttachmentFacts]) -> RequestedAction:
    """The action with files; raises `Invalid(field, reason)` for one that sends no mail, and for too many bytes."""
    if not files:
        return action
    if not isinstance(action, Forward | AutoReply):
        raise Invalid(FILES, f"go with no action of the kind {action.kind}")
    wider = ForwardWithAttachments if isinstance(action, Forward) else AutoReplyWithAttachments
    try:
        made: RequestedAction = wider.model_validate(action.model_dump() | {FILES: tuple(files)})
    except ValidationError as error:
        raise invalid_from(error, FILES) from error
    words = len(json.dumps(made.parameters, ensure_ascii=False).encode())
    size = words + sum(base64_size(one.size) for one in files if one.artifact_id is None)
    if size > LARGEST_MAIL:
        fit = f"at most {LARGEST_MAIL} fit: store larger files as artifacts"
        raise Invalid(FILES, f"and the words have {size} bytes together as they are ordered; {fit}")
    return made


def read_action(kind: ActionKind, parameters: Mapping[str, Any], version: int) -> Action:
    """A stored action; raises `Invalid(field, reason)`."""
    if version != VERSION:
        raise Invalid("version", f"{version} is none that this release can read")
    of_kind = WITH_FILES.get(kind, CLASSES[kind]) if FILES in parameters else CLASSES[kind]
    try:
        return of_kind.model_validate(parameters)
    except ValidationError as error:
        raise invalid_from(error, "parameters") from error


def _without_kind(refusal: Invalid) -> Invalid:
    """Pydantic puts the kind before the field of a class that the kind has chosen."""
    head, dot, rest = refusal.field.partition(".")
    if head not in set(ActionKind):
        return refusal
    reason = refusal.reason.partition(": ")[2]
    return Invalid(rest if dot else "parameters", reason)

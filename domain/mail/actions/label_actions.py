"""The actions that are one change of a message's labels."""

from typing import Annotated, ClassVar, Literal

from pydantic import StringConstraints, field_validator

from domain.mail.actions.action import Action, LabelWish
from domain.mail.actions.kinds import ActionKind, Danger, Inverse
from domain.mail.mailbox import DRAFT, INBOX, SENT, SPAM, STARRED, TRASH, UNREAD

OWN_ACTION = {
    INBOX: "archive",
    UNREAD: "mark_read and mark_unread",
    STARRED: "star and unstar",
    TRASH: "trash and restore",
}
"""System labels that have an action of their own, with a danger of its own: no other action may move them."""
FIXED = frozenset({SENT, DRAFT, SPAM, "CHAT"})
"""Gmail moves these itself, or (SPAM) takes the sender for a spammer because of them."""


class LabelAction(Action):
    """An action that is one change of labels."""

    adds: ClassVar[frozenset[str]] = frozenset()
    removes: ClassVar[frozenset[str]] = frozenset()

    @property
    def wish(self) -> LabelWish:
        """The labels to add and to remove."""
        return LabelWish(add=self.adds, remove=self.removes)


class Archive(LabelAction):
    """Take a message out of the inbox."""

    danger = Danger.REVERSIBLE
    inverse = Inverse.APPLY_LABEL
    kind: Literal[ActionKind.ARCHIVE] = ActionKind.ARCHIVE
    removes = frozenset({INBOX})


LabelId = Annotated[str, StringConstraints(min_length=1, max_length=225, strip_whitespace=True)]


class _NamesLabel(LabelAction):
    """What applying and removing a label have in common."""

    danger = Danger.SAFE
    label_id: LabelId

    @field_validator("label_id")
    @classmethod
    def _is_a_plain_label(cls, label_id: str) -> str:
        if label_id in OWN_ACTION:
            raise ValueError(f"{label_id} has actions of its own: {OWN_ACTION[label_id]}")
        if label_id in FIXED:
            raise ValueError(f"{label_id} is Gmail's own to set")
        return label_id


class ApplyLabel(_NamesLabel):
    """Put a label on a message."""

    inverse = Inverse.REMOVE_LABEL
    kind: Literal[ActionKind.APPLY_LABEL] = ActionKind.APPLY_LABEL

    @property
    def wish(self) -> LabelWish:
        """The label on."""
        return LabelWish(add=frozenset({self.label_id}))


class RemoveLabel(_NamesLabel):
    """Take a label off a message."""

    inverse = Inverse.APPLY_LABEL
    kind: Literal[ActionKind.REMOVE_LABEL] = ActionKind.REMOVE_LABEL

    @property
    def wish(self) -> LabelWish:
        """The label off."""
        return LabelWish(remove=frozenset({self.label_id}))


class MarkRead(LabelAction):
    """Mark a message as read."""

    danger = Danger.SAFE
    inverse = Inverse.MARK_UNREAD
    kind: Literal[ActionKind.MARK_READ] = ActionKind.MARK_READ
    removes = frozenset({UNREAD})


class MarkUnread(LabelAction):
    """Mark a message as unread."""

    danger = Danger.SAFE
    inverse = Inverse.MARK_READ
    kind: Literal[ActionKind.MARK_UNREAD] = ActionKind.MARK_UNREAD
    adds = frozenset({UNREAD})


class Star(LabelAction):
    """Star a message."""

    danger = Danger.SAFE
    inverse = Inverse.UNSTAR
    kind: Literal[ActionKind.STAR] = ActionKind.STAR
    adds = frozenset({STARRED})


class Unstar(LabelAction):
    """Take the star off a message."""

    danger = Danger.SAFE
    inverse = Inverse.STAR
    kind: Literal[ActionKind.UNSTAR] = ActionKind.UNSTAR
    removes = frozenset({STARRED})

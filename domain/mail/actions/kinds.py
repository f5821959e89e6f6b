"""The kinds of action, what each can spoil, and what takes it back."""

from enum import StrEnum


class ActionKind(StrEnum):
    """The thirteen actions (docs: seeds.md#001-83), and the undo of one of them."""

    ARCHIVE = "archive"
    APPLY_LABEL = "apply_label"
    REMOVE_LABEL = "remove_label"
    MARK_READ = "mark_read"
    MARK_UNREAD = "mark_unread"
    STAR = "star"
    UNSTAR = "unstar"
    TRASH = "trash"
    RESTORE = "restore"
    DELETE = "delete"
    SNOOZE = "snooze"
    FORWARD = "forward"
    AUTO_REPLY = "auto_reply"
    UNDO = "undo"
    """Takes another action back. It is made by `actions.undo` alone: no rule, model or caller may ask for it."""


SENDING = frozenset({ActionKind.FORWARD, ActionKind.AUTO_REPLY})
"""Actions by which mail leaves; a forged From must never set them off."""


class Danger(StrEnum):
    """What an action can spoil."""

    SAFE = "safe"
    """Changes nothing a person would miss."""
    REVERSIBLE = "reversible"
    """Takes mail out of sight; undo brings it back."""
    DANGEROUS = "dangerous"
    """Cannot be taken back, or leaves the mailbox."""


class Inverse(StrEnum):
    """What takes an action back (docs: seeds.md#001-143)."""

    APPLY_LABEL = "apply_label"
    REMOVE_LABEL = "remove_label"
    MARK_READ = "mark_read"
    MARK_UNREAD = "mark_unread"
    STAR = "star"
    UNSTAR = "unstar"
    TRASH = "trash"
    RESTORE = "restore"
    UNSNOOZE = "unsnooze"
    """Cancel the job that would wake the message, and put its labels back."""
    NONE = "none"
    """It cannot be taken back."""

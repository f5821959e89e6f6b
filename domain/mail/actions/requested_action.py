"""What may be done to a message, as a request that still has to pass the safety rules."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, StringConstraints, model_validator


class ActionKind(StrEnum):
    """The thirteen actions (docs: seeds.md#001-57-actiongmail)."""

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


SENDING = frozenset({ActionKind.FORWARD, ActionKind.AUTO_REPLY})
"""Actions by which mail leaves; a forged From must never set them off."""
_LABELLING = frozenset({ActionKind.APPLY_LABEL, ActionKind.REMOVE_LABEL})
_NEEDS = {
    **dict.fromkeys(_LABELLING, "label_id"),
    ActionKind.FORWARD: "recipient",
    ActionKind.AUTO_REPLY: "text",
    ActionKind.SNOOZE: "snooze_minutes",
}
_PARAMETERS = ("label_id", "recipient", "text", "snooze_minutes")
_A_YEAR_OF_MINUTES = 366 * 24 * 60


class RequestedAction(BaseModel):
    """One action with exactly the parameter that its kind needs; label ids, never names."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: ActionKind
    label_id: Annotated[str, StringConstraints(min_length=1, max_length=225)] | None = None
    recipient: Annotated[str, StringConstraints(pattern=r"^[^@\s<>,;]{1,64}@[^@\s<>,;]{1,255}$")] | None = None
    text: Annotated[str, StringConstraints(min_length=1, max_length=10_000)] | None = None
    snooze_minutes: int | None = None

    @model_validator(mode="after")
    def _exactly_its_parameter(self) -> Self:
        needed = _NEEDS.get(self.kind)
        for name in _PARAMETERS:
            given = getattr(self, name) is not None
            if given != (name == needed):
                raise ValueError(f"{self.kind} {'takes no' if given else 'needs'} {name}")
        if self.snooze_minutes is not None and not 1 <= self.snooze_minutes <= _A_YEAR_OF_MINUTES:
            raise ValueError("snooze_minutes is not between one minute and a year")
        return self

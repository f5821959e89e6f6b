"""What an owner may change about a mailbox: the settings, each checked (docs: triage.md#settings)."""

import re
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject
from domain.mail.actions.kinds import SENDING, ActionKind
from domain.mail.invalid_fields import invalid_from
from domain.mail.triage.classification import OFFERED_ACTIONS

MODEL_MAY_ASK = (
    ActionKind.ARCHIVE,
    ActionKind.MARK_READ,
    ActionKind.MARK_UNREAD,
    ActionKind.STAR,
    ActionKind.UNSTAR,
    ActionKind.TRASH,
)
"""What the classifying model may be offered at the most. Mail may talk the model into anything it is offered, so
nothing here sends, nothing is for ever, and nothing takes a parameter, which hostile mail would choose."""


LABEL_PARENT = re.compile(r"^[^/\x00-\x1f\x7f]{1,100}$")
"""A slash would nest the labels once more; the rest cannot be seen."""


class SettingsChange(BaseModel):
    """The settings to change; those that are left out stay as they are."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    label_parent: Annotated[
        str | None,
        Field(
            description="The label under which ours are made; labels that exist keep their names.",
            json_schema_extra={"pattern": LABEL_PARENT.pattern},
        ),
    ] = None
    send_allowed: Annotated[
        bool | None, Field(description="Whether an agent gets a tool that sends. Off: there is no such tool.")
    ] = None
    agent_enabled: Annotated[bool | None, Field(description="Whether messages may be routed to agents.")] = None
    model_actions: Annotated[
        list[str] | None,
        Field(max_length=len(MODEL_MAY_ASK), description="The actions that the classifying model may ask for."),
    ] = None

    @field_validator("label_parent")
    @classmethod
    def _plain(cls, name: str | None) -> str | None:
        # A pattern of the field would be the reason, and nobody reads those.
        if name is not None and not LABEL_PARENT.fullmatch(name):
            raise ValueError("is a label's name of 1 to 100 characters, without slashes, line breaks and tabs")
        return name

    @field_validator("model_actions")
    @classmethod
    def _offerable(cls, names: list[str] | None) -> list[str] | None:
        for name in names or ():
            if name in {kind.value for kind in SENDING}:
                raise ValueError(
                    f"{name} sends mail: the classifying model is never offered that; a rule may ask for it"
                )
            if name not in {kind.value for kind in MODEL_MAY_ASK}:
                raise ValueError(f"may hold {', '.join(MODEL_MAY_ASK)}; not {name[:40]!r}")
        return names if names is None else list(dict.fromkeys(names))

    def changes(self) -> JsonObject:
        """What is to be stored."""
        return self.model_dump(exclude_none=True)


def parse_settings(data: object) -> SettingsChange:
    """A change of settings from JSON-like data; raises `Invalid(field, reason)`."""
    try:
        change = SettingsChange.model_validate(data)
    except ValidationError as error:
        raise invalid_from(error, "settings") from error
    if not change.changes():
        raise Invalid("settings", "names no setting to change")
    return change


def offered_actions(stored: object) -> tuple[ActionKind, ...]:
    """The actions that the model is offered, from what is stored; whatever is missing or odd counts as the default."""
    if not isinstance(stored, list):
        return OFFERED_ACTIONS
    return tuple(kind for kind in MODEL_MAY_ASK if kind.value in stored)

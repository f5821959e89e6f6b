"""What an agent is told and allowed: its prompt, its model, its tools, and the limits that end its run."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator, model_validator

from domain.jobs.failures import Invalid
from domain.mail.invalid_fields import invalid_from
from domain.orgs.privacy.redaction import redact_text
from domain.payloads.agents import ProfileName

LONGEST_PROMPT = 8_000
MOST_LABELS = 50
MOST_TURNS = 50
"""A run is one attempt's work in the main: 50 calls of the model fit the deadline of its job."""
MOST_MICROCENTS = 1_000_000_000
"""Ten dollars for one thread; an org's own budget per day ends a run earlier."""
MOST_SECONDS = 480
"""Below the deadline of the job, ten minutes, so that a run ends by its own limit and says so."""


class ToolName(StrEnum):
    """The tools that there are; nothing else is ever called, whatever a model names."""

    SEARCH_MAIL = "search_mail"
    READ_THREAD = "read_thread"
    APPLY_LABEL = "apply_label"
    ARCHIVE = "archive"
    DRAFT_REPLY = "draft_reply"
    REPLY = "reply"
    ESCALATE = "escalate"


class SearchScope(StrEnum):
    """Which mail a search finds."""

    CORRESPONDENTS = "correspondents"
    """Only messages that everybody has seen to whom a reply would go, so that no reply can tell them anything new."""
    ACCOUNT = "account"
    """All mail of the account; once a run has seen such mail, it may not write to anybody.

    A run that has no thread of its own searches all mail either way, and writes only to those who have seen all that it
    was shown."""


class RunLimits(BaseModel):
    """What ends a run: model calls, microcents (a millionth of a cent), seconds that it works."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    turns: Annotated[int, Field(ge=1, le=MOST_TURNS)] = 8
    microcents: Annotated[int, Field(ge=1, le=MOST_MICROCENTS)] = 20_000_000
    seconds: Annotated[int, Field(ge=10, le=MOST_SECONDS)] = 240

    def narrowed(self, wanted: Mapping[str, int | None]) -> "RunLimits":
        """These limits, and those of the same names that are lower; None leaves the own one."""
        own = self.model_dump()
        return RunLimits(**own | {name: min(own[name], one) for name, one in wanted.items() if one is not None})


class AgentProfile(BaseModel):
    """One version of a profile. The mail that it is used on is hostile; the prompt is its owner's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ProfileName
    """A rule's route names it (`agent:<name>`)."""
    prompt: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_PROMPT, strip_whitespace=True)]
    model: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]{1,99}$")]
    tools: Annotated[tuple[ToolName, ...], Field(min_length=1, max_length=len(ToolName))]
    labels: Annotated[
        tuple[Annotated[str, StringConstraints(min_length=1, max_length=225)], ...], Field(max_length=MOST_LABELS)
    ] = ()
    """Names of the labels that `apply_label` may put on a thread."""
    may_reply: Annotated[bool, Field(strict=True)] = False
    """Whether the agent may ask for a reply to be sent; the account must allow it too, and a person may have to."""
    search: SearchScope = SearchScope.CORRESPONDENTS
    limits: RunLimits = RunLimits()

    @field_validator("prompt", mode="after")
    @classmethod
    def _holds_no_secret(cls, prompt: str) -> str:
        if redact_text(prompt) != prompt:
            raise ValueError("holds what looks like a secret")
        return prompt

    @field_validator("tools", mode="after")
    @classmethod
    def _each_once(cls, tools: tuple[ToolName, ...]) -> tuple[ToolName, ...]:
        if len(set(tools)) < len(tools):
            raise ValueError("names a tool twice")
        return tools

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if (ToolName.APPLY_LABEL in self.tools) != bool(self.labels):
            raise ValueError("labels: goes with the tool apply_label, one or more names")
        if (ToolName.REPLY in self.tools) != self.may_reply:
            raise ValueError("may_reply: goes with the tool reply")
        return self


def parse_profile(data: Mapping[str, Any]) -> AgentProfile:
    """A profile from JSON-like data; raises `Invalid(field, reason)`."""
    try:
        return AgentProfile.model_validate(dict(data))
    except ValidationError as error:
        raise _by_field(invalid_from(error, "profile")) from error


def _by_field(refusal: Invalid) -> Invalid:
    """The refusal of a check over several fields, with the field that its text begins with."""
    field, colon, reason = refusal.reason.removeprefix("profile: ").partition(": ")
    return Invalid(field, reason) if refusal.field == "profile" and colon else refusal

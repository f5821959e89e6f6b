"""The tools of a run: what each takes, which of them are offered, and which calls are believed.

The mail may have talked the model into anything, so only what was offered exists: no tool takes a recipient, a label is
one of the profile's, and a thread is the run's own or one that its own searches found (docs: agents.md#tools). A run
that has no thread of its own names one with each call.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError, create_model

from domain.jobs.failures import Invalid
from domain.mail.invalid_fields import invalid_from
from domain.mail.replies.drafting import LONGEST_REPLY
from domain.mail.tool_schema import schema_of
from domain.models.agents.profile import AgentProfile, SearchScope, ToolName
from domain.models.agents.transcript import ToolCall

LONGEST_ACTION_TEXT = 10_000
"""Of a reply that is sent (`domain/mail/actions/requested_action.py`); a draft may be longer."""
WRITING = frozenset({ToolName.DRAFT_REPLY, ToolName.REPLY})
"""Tools whose text others may read one day."""
SEALED = "mail from other threads was read that the recipients may not know: a person has to write"
NO_SUCH_TOOL = "there is no such tool here"


class Arguments(BaseModel):
    """What a tool takes; a field more is a refusal."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
    tool: ClassVar[ToolName]
    description: ClassVar[str]
    """What the model is told of the tool."""


Words = Annotated[str, StringConstraints(min_length=1, max_length=200, strip_whitespace=True)]
ThreadId = Annotated[str, StringConstraints(min_length=1, max_length=100)]


class SearchMail(Arguments):
    """Words to look for."""

    tool = ToolName.SEARCH_MAIL
    description = "Look for words in the mailbox's older mail. Returns a few messages, newest first."
    query: Words


class SearchMailbox(Arguments):
    """Words to look for, and a person who has sent or received the messages; without both, the newest mail."""

    tool = ToolName.SEARCH_MAIL
    description = (
        "Look for mail by words, by a person's address, or both; the newest mail without either. Returns a few"
        " messages, newest first."
    )
    query: Words | None = None
    person: Annotated[str, StringConstraints(min_length=3, max_length=320, strip_whitespace=True)] | None = None


class ReadThread(Arguments):
    """The run's own thread, or one that a search of this run found."""

    tool = ToolName.READ_THREAD
    description = "Read a thread: the one that you look after, or one that a search has found, by its id."
    thread_id: ThreadId | None = None


class ApplyLabel(Arguments):
    """A label by its name."""

    tool = ToolName.APPLY_LABEL
    description = "Put a label on the thread."
    label: Annotated[str, StringConstraints(min_length=1, max_length=225)]


class Archive(Arguments):
    """Nothing but the thread."""

    tool = ToolName.ARCHIVE
    description = "Take the thread out of the inbox."


class DraftReply(Arguments):
    """The words; recipients and subject are the thread's."""

    tool = ToolName.DRAFT_REPLY
    description = "Save a draft of a reply in the thread, for the owner to read and send."
    body: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_REPLY)]


class Reply(Arguments):
    """The words of a reply that is sent, at once or when a person has approved it."""

    tool = ToolName.REPLY
    description = "Ask for a reply to be sent to the sender of the thread's last message."
    body: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_ACTION_TEXT)]


class Escalate(Arguments):
    """Why a person is needed."""

    tool = ToolName.ESCALATE
    description = "Hand the work to the owner, say why, and end."
    reason: Annotated[str, StringConstraints(min_length=1, max_length=1_000)]


class InThread(Arguments):
    """A thread that a search of this run has found."""

    thread_id: ThreadId


Toolkit = Mapping[ToolName, type[Arguments]]
"""What each tool takes."""


def _by_tool(*classes: type[Arguments]) -> dict[ToolName, type[Arguments]]:
    return {one.tool: one for one in classes}


ON_THREAD = _by_tool(SearchMail, ReadThread, ApplyLabel, Archive, DraftReply, Reply, Escalate)
"""Of a run that looks after one thread, on which each tool works."""
_NAMING_THREAD = (
    create_model(f"{one.__name__}InThread", __base__=(InThread, one), __doc__=InThread.__doc__)
    for one in (ReadThread, ApplyLabel, Archive, DraftReply, Reply)
)
ON_MAILBOX = ON_THREAD | _by_tool(SearchMailbox, *_NAMING_THREAD)
"""Of a run that has no thread of its own: each call names one."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What one run may do: its profile, cut down to what the account and the message allow."""

    tools: tuple[ToolName, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    """Ids of the labels that may be applied, by name."""
    search: SearchScope = SearchScope.CORRESPONDENTS
    kit: Toolkit = field(default_factory=lambda: ON_THREAD)

    def specs(self) -> list[dict[str, Any]]:
        """Name, description and JSON schema of each tool, the same bytes in the same order for the same offer."""
        return [
            {"name": tool.value, "description": self.kit[tool].description, "schema": self._schema(tool)}
            for tool in ToolName
            if tool in self.tools
        ]

    def _schema(self, tool: ToolName) -> dict[str, Any]:
        schema = schema_of(self.kit[tool])
        if tool is ToolName.APPLY_LABEL:
            schema["properties"]["label"] = {"type": "string", "enum": sorted(self.labels)}
        return schema


WITHOUT_MAILBOX = Offer((ToolName.ESCALATE,), kit=ON_MAILBOX)
"""To a run that has no mailbox."""


def offer_of(
    profile: AgentProfile,
    labels: Mapping[str, str],
    *,
    may_send: bool,
    may_write: bool = True,
    can_draft: bool = True,
    kit: Toolkit = ON_THREAD,
) -> Offer:
    """What a run of a profile is offered.

    `labels` are the account's own, ids by name. `may_send` is the account's word, `may_write` says whether the message
    may be answered at all, and `can_draft` whether the thread has room for a draft of ours. A person can always be
    called: `escalate` is there whatever the profile says.
    """
    allowed = {name: labels[name] for name in profile.labels if name in labels}
    missing = {
        ToolName.APPLY_LABEL: not allowed,
        ToolName.DRAFT_REPLY: not may_write or not can_draft,
        ToolName.REPLY: not may_write or not may_send or not profile.may_reply,
    }
    wanted = {*profile.tools, ToolName.ESCALATE}
    tools = tuple(tool for tool in ToolName if tool in wanted and not missing.get(tool, False))
    return Offer(tools, allowed, profile.search, kit)


def read_call(
    call: ToolCall, offer: Offer, *, own_thread: str | None = None, found: frozenset[str], is_sealed: bool = False
) -> Arguments:
    """The checked arguments of a call; raises `Invalid(field, reason)`, which goes to the model.

    `found` are the threads that searches of this run have shown; `is_sealed`: the run has seen mail whose content must
    not leave it.
    """
    tool = next((one for one in offer.tools if one.value == call.name), None)
    if tool is None:
        raise Invalid("tool", NO_SUCH_TOOL)
    if tool in WRITING and is_sealed:
        raise Invalid("tool", SEALED)
    if call.arguments is None:
        raise Invalid("arguments", "are no JSON object")
    try:
        arguments = offer.kit[tool].model_validate(call.arguments)
    except ValidationError as error:
        raise invalid_from(error, "arguments") from error
    if isinstance(arguments, ApplyLabel) and arguments.label not in offer.labels:
        raise Invalid("label", "was not offered")
    if isinstance(arguments, InThread) and arguments.thread_id not in found:
        raise Invalid("thread_id", "no search of this run has found it")
    if isinstance(arguments, ReadThread) and arguments.thread_id not in {None, own_thread, *found}:
        raise Invalid("thread_id", "is not this thread, and no search of this run has found it")
    return arguments

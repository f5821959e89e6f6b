"""The port for a conversation with a model that has tools: one call per turn, and the job keeps the transcript."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from domain.agents.transcript import Turn
from providers.ports import Usage


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the model may call; `schema` is the JSON schema of its arguments."""

    name: str
    description: str
    schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ConversationRequest:
    """The whole conversation so far, stable parts first: tools, system, opening, turns.

    `system` and `tools` should be the same bytes for all runs of an agent; `opening` and the results of tools hold
    hostile text. Each turn carries the answer as the vendor gave it, and what is said upon it.
    """

    model: str
    system: str
    tools: tuple[Tool, ...]
    opening: str
    turns: tuple[Turn, ...] = ()
    max_tokens: int = 4096
    cache: Literal["5m", "1h"] | None = "5m"


@dataclass(frozen=True, slots=True)
class ConversationAnswer:
    """One answer with its usage, also when it is of no use.

    `content` are the blocks as they have to be sent back; the caller finds the calls of tools in them and validates
    their arguments. `stop_reason` is the vendor's word.
    """

    model: str
    stop_reason: str
    content: tuple[dict[str, Any], ...]
    usage: Usage
    cost_microcents: int
    request_id: str | None = None


class Conversation(Protocol):
    """A language model that is offered tools and answers turn by turn."""

    def converse(self, request: ConversationRequest) -> ConversationAnswer:
        """Make one call, never repeated by a library; raises failures for transport, limits and spend."""
        ...

    def most_to_converse(self, request: ConversationRequest, prompt_tokens: int | None = None) -> int:
        """The most microcents that this call can cost; closer where the tokens of its prompt were counted."""
        ...

    def count_prompt(self, request: ConversationRequest) -> int:
        """The tokens of the prompt as the vendor counts them: a call of its own, free and with a limit of its own."""
        ...

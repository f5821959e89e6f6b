"""The port for language models: a forced call of one tool, or a conversation with tools, one call per turn."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from domain.models.agents.transcript import ModelTurn


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call, as billed."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_5m_tokens: int = 0
    cache_creation_1h_tokens: int = 0
    cache_read_tokens: int = 0


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
    turns: tuple[ModelTurn, ...] = ()
    max_tokens: int = 4096
    cache: Literal["5m", "1h"] | None = "5m"
    particular: str = ""
    """What else the model is told, after `system`; it differs, and no cache keeps it."""
    is_forced: bool = False
    """Whether the answer has to be one call of the only tool. No cache keeps the opening then."""


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


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One forced tool call: stable parts first, so that the prompt cache holds them.

    `system` and `tool_schema` should be the same bytes for all mail of an account; `particular` is what else the model
    is told, and differs. `mail` is hostile text.
    """

    model: str
    system: str
    mail: str
    tool_name: str
    tool_description: str
    tool_schema: dict[str, Any]
    max_tokens: int = 1024
    cache: Literal["5m", "1h"] | None = "5m"
    particular: str = ""

    @property
    def conversation(self) -> ConversationRequest:
        """The conversation that is this call alone."""
        return ConversationRequest(
            model=self.model,
            system=self.system,
            tools=(Tool(self.tool_name, self.tool_description, self.tool_schema),),
            opening=self.mail,
            max_tokens=self.max_tokens,
            cache=self.cache,
            particular=self.particular,
            is_forced=True,
        )


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What a model said to a forced tool call, with the usage even when the answer is of no use.

    `stop_reason` is the vendor's word; `arguments` is the tool's input, or None when the model
    called no tool, another tool, or was cut off. The caller validates it against its own schema.
    """

    model: str
    stop_reason: str
    arguments: dict[str, Any] | None
    usage: Usage
    cost_microcents: int
    request_id: str | None = None


class LanguageModel(Protocol):
    """A language model behind a forced tool call, or that is offered tools and answers turn by turn."""

    def ask(self, request: ModelRequest) -> ModelAnswer:
        """Make one call, never repeated by a library; raises failures for transport, limits and spend.

        Raises `Refused` when the vendor will not take the request; nothing is billed then.
        """
        ...

    def converse(self, request: ConversationRequest) -> ConversationAnswer:
        """Make one call of a conversation, as `ask`."""
        ...

    def most_microcents(self, request: ModelRequest | ConversationRequest, prompt_tokens: int | None = None) -> int:
        """The most that this call can cost, whatever the model answers: what a budget reserves for it.

        Closer where the tokens of the prompt were counted.
        """
        ...

    def count_tokens(self, request: ModelRequest | ConversationRequest) -> int:
        """The tokens of the prompt as the vendor counts them: a call of its own, free and with a limit of its own."""
        ...

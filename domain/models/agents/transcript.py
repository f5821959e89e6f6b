"""What was said in a conversation with a model that has tools: answers, calls of tools, results; to and from JSON."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from domain.jobs.job import JsonObject

CALLED = "The owner is told: "
"""How the result of a call begins that hands the run to a person; the rest is why."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish. `call_id` is the vendor's `tool_use.id`; `arguments` is None when they are no JSON object."""

    call_id: str
    name: str
    arguments: JsonObject | None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call came to, as the model is told."""

    call_id: str
    text: str
    is_error: bool = False
    ends_run: bool = False
    """Whether the run is over: it was handed to a person."""
    found: tuple[str, ...] = ()
    """The threads that a search has shown, by id."""
    shown: tuple[str, ...] = ()
    """The messages that it shows of threads that are not the run's own, by id; of a thread, the oldest first."""
    read: str | None = None
    """The thread whose messages these are, where one was read."""
    wanted: JsonObject | None = None
    """The action that was asked for and is recorded when the run ends."""
    about: str | None = None
    """The message that the action is about, by id."""


@dataclass(frozen=True, slots=True)
class TurnAnswer:
    """One answer of the model. `content` is what the vendor wants back in the next call, block by block."""

    stop_reason: str
    content: tuple[JsonObject, ...] = ()
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    cost_microcents: int = 0


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """An answer, and what the model was told upon it; `note` where it called no tool and shall go on."""

    answer: TurnAnswer
    results: tuple[ToolResult, ...] = ()
    note: str = ""

    @property
    def pending(self) -> tuple[ToolCall, ...]:
        """The calls that nobody has answered yet."""
        answered = {result.call_id for result in self.results}
        return tuple(call for call in self.answer.calls if call.call_id not in answered)


def cost_of(turns: Iterable[ModelTurn]) -> int:
    """What the answers have cost, in microcents."""
    return sum(turn.answer.cost_microcents for turn in turns)


def results_of(turns: Iterable[ModelTurn]) -> tuple[ToolResult, ...]:
    """All results of a run, in order."""
    return tuple(result for turn in turns for result in turn.results)


def result_document(result: ToolResult) -> JsonObject:
    """A result as a step keeps it."""
    return asdict(result) | {"found": list(result.found), "shown": list(result.shown)}


def read_result(document: JsonObject) -> ToolResult:
    """A result that a step has kept."""
    return ToolResult(**document | {"found": tuple(document["found"]), "shown": tuple(document["shown"])})


def read_answer(document: JsonObject) -> TurnAnswer:
    """An answer that the budget has kept: `content`, `stop_reason` and `cost`.

    The calls are read from the kept content, so that a later attempt sees exactly what the first one saw.
    """
    content = tuple(dict(block) for block in document["content"])
    calls = tuple(
        ToolCall(str(block.get("id", "")), str(block.get("name", "")), _object(block.get("input")))
        for block in content
        if block.get("type") == "tool_use"
    )
    text = "\n".join(str(block.get("text", "")) for block in content if block.get("type") == "text")
    return TurnAnswer(str(document["stop_reason"]), content, text, calls, int(document["cost"]))


def _object(value: object) -> JsonObject | None:
    return dict(value) if isinstance(value, dict) else None

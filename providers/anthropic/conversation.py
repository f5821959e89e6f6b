"""How a conversation or a forced call is sent to Anthropic, and its answers read; pure (docs: anthropic.md#tools)."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from domain.models.agents.transcript import ModelTurn, ToolResult
from domain.models.money import tokens_at_most
from providers.anthropic.models import Manner, manner_of
from providers.ports.language_model import ConversationAnswer, ConversationRequest

Block = dict[str, Any]

CALL_THE_TOOL = "Answer with exactly one call of the tool `{name}` and nothing else."
"""Said to models that refuse a forced call; it is in the system prompt, so mail cannot come after it."""

GO_ON = "Go on."
"""For a turn that was answered with nothing else: the last message must be a user's."""
NO_TEXT = "(nothing)"
"""In place of blanks: the vendor refuses a text without words."""


def conversation_body(request: ConversationRequest) -> dict[str, Any]:
    """The parameters of the call. The vendor caches tools, system and messages in this order."""
    return prompt_body(request) | {"max_tokens": request.max_tokens}


def prompt_body(request: ConversationRequest) -> dict[str, Any]:
    """The parameters that make the prompt, as `count_tokens` takes them, too."""
    manner = manner_of(request.model)
    body: dict[str, Any] = {"model": request.model, "messages": _messages(request)}
    if request.tools:
        tools = [
            {"name": one.name, "description": one.description, "input_schema": one.schema} for one in request.tools
        ]
        body["tools"] = [*tools[:-1], _marked(tools[-1], request)]
        forced = request.is_forced and manner.forces_tool
        choice = {"type": "tool", "name": request.tools[0].name} if forced else {"type": "auto"}
        # One call at a time: each result is read before the next call is decided.
        body["tool_choice"] = choice | {"disable_parallel_tool_use": True}
    system = list(_system(request, manner))
    if system:
        body["system"] = system
    if manner.thinking is not None:
        body["thinking"] = {"type": manner.thinking}
    return body


def _system(request: ConversationRequest, manner: Manner) -> Iterator[Block]:
    """The mark stands where the parts end that are the same for all mail (docs: anthropic.md#prompt-cache)."""
    forced_by_words = request.is_forced and not manner.forces_tool
    call = CALL_THE_TOOL.format(name=request.tools[0].name) if forced_by_words else ""
    stable = "\n\n".join(filter(str.strip, (request.system, call)))
    if stable:
        yield _marked({"type": "text", "text": stable}, request)
    if request.particular.strip():
        yield {"type": "text", "text": request.particular}


def prompt_tokens_at_most(request: ConversationRequest) -> int:
    """An upper bound for the tokens of the prompt, from its bytes."""
    return tokens_at_most(json.dumps(prompt_body(request), ensure_ascii=False))


def kept_content(content: Sequence[object]) -> tuple[Block, ...]:
    """The blocks of an answer as they can be sent back: only what a request may hold.

    Arguments that are no JSON object are kept as they are, so that the job sees them, and sent back as an empty object.
    A block of thinking has a signature and goes back as it came.
    """
    return tuple(_kept(block) for block in content if isinstance(block, dict) and _says_something(block))


def arguments_of(answer: ConversationAnswer, tool_name: str) -> dict[str, Any] | None:
    """What a forced call of a tool was made with; None for an answer that is not exactly one such call."""
    calls = [block for block in answer.content if block.get("type") == "tool_use"]
    if answer.stop_reason != "tool_use" or [one["name"] for one in calls] != [tool_name]:
        return None
    arguments = calls[0]["input"]
    return arguments if isinstance(arguments, dict) else None


def _messages(request: ConversationRequest) -> list[Block]:
    if request.is_forced:
        return [{"role": "user", "content": request.opening}]
    opening = {"type": "text", "text": _worded(request.opening)}
    said: list[Block] = [{"role": "user", "content": [_marked(opening, request)]}]
    for place, turn in enumerate(request.turns, start=1):
        content = [_sent(block) for block in turn.answer.content]
        upon = list(_upon(turn))
        if place == len(request.turns):
            upon[-1] = _marked(upon[-1], request)
        # An answer without content cannot be sent back; what is said upon it follows the message before.
        if content:
            said += [{"role": "assistant", "content": content}, {"role": "user", "content": upon}]
        else:
            said[-1]["content"] += upon
    return said


def _upon(turn: ModelTurn) -> Iterator[Block]:
    """The user's side of a turn: the results in the order of the calls, then a word."""
    yield from (_result(result) for result in turn.results)
    if turn.note.strip() or not turn.results:
        yield {"type": "text", "text": turn.note if turn.note.strip() else GO_ON}


def _result(result: ToolResult) -> Block:
    block: Block = {"type": "tool_result", "tool_use_id": result.call_id, "content": _worded(result.text)}
    return block | {"is_error": True} if result.is_error else block


def _worded(text: str) -> str:
    return text if text.strip() else NO_TEXT


def _kept(block: Block) -> Block:
    match block.get("type"):
        case "text":
            return {"type": "text", "text": block["text"]}
        case "tool_use":
            named = {name: str(block.get(name) or "") for name in ("id", "name")}
            return {"type": "tool_use", **named, "input": block.get("input")}
        case _:
            return block


def _sent(block: Block) -> Block:
    if block.get("type") != "tool_use" or isinstance(block.get("input"), dict):
        return block
    return {**block, "input": {}}


def _says_something(block: Block) -> bool:
    return block.get("type") != "text" or (isinstance(block.get("text"), str) and bool(block["text"].strip()))


def _marked(block: Block, request: ConversationRequest) -> Block:
    if request.cache is None:
        return block
    return {**block, "cache_control": {"type": "ephemeral", "ttl": request.cache}}

"""A conversation as it is sent, stable parts first, and its answers as they can be sent back."""

from typing import Any

import pytest

from domain.jobs.failures import CallState, Transient
from domain.models.agents.transcript import ModelTurn, ToolResult, TurnAnswer
from providers.anthropic.conversation import (
    GO_ON,
    NO_TEXT,
    conversation_body,
    kept_content,
    prompt_tokens_at_most,
)
from providers.ports.language_model import ConversationAnswer, ConversationRequest, LanguageModel, Tool
from tests.providers.anthropic.test_anthropic import NOW, USAGE, message, opened
from tests.providers.wire import Wire, reply

MOST_CACHE_MARKS = 4
"""The vendor takes so many: the last tool, the system prompt, the opening, and the latest results."""

TOOLS = (Tool("read_thread", "Reads.", {"type": "object"}), Tool("archive", "Archives.", {"type": "object"}))
CALL = {"type": "tool_use", "id": "toolu_1", "name": "archive", "input": {}}
SAID = {"type": "text", "text": "I archive it."}


def request(*turns: ModelTurn, **changes: Any) -> ConversationRequest:  # noqa: ANN401  # fields of the request
    fields = {"system": "You are an agent.", "tools": TOOLS, "opening": "A thread.", "turns": turns, **changes}
    return ConversationRequest(model="claude-haiku-5-5", **fields)


def turn(*content: dict[str, Any], results: tuple[ToolResult, ...] = (), note: str = "") -> ModelTurn:
    return ModelTurn(TurnAnswer("tool_use", content), results, note)


def marks(body: Any) -> int:  # noqa: ANN401  # any JSON
    if isinstance(body, dict):
        return ("cache_control" in body) + sum(marks(value) for value in body.values())
    return sum(marks(value) for value in body) if isinstance(body, list) else 0


def test_the_same_model_answers_forced_calls_and_conversations() -> None:
    with opened("http://127.0.0.1:1") as model:
        port: LanguageModel = model
        assert port is model


def test_turns_are_sent_back_as_they_came_with_their_results() -> None:
    told = turn(SAID, CALL, results=(ToolResult("toolu_1", "Refused.", is_error=True),))
    body = conversation_body(request(told, turn(SAID, note="Be brief.")))
    roles = [one["role"] for one in body["messages"]]
    assert roles == ["user", "assistant", "user", "assistant", "user"]
    assert body["messages"][1]["content"] == [SAID, CALL]
    assert body["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Refused.", "is_error": True}
    ]
    assert body["messages"][4]["content"][0]["text"] == "Be brief."
    assert body["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    assert body["thinking"] == {"type": "disabled"}


@pytest.mark.parametrize("blanks", ["", " ", "\n\n\t", "\u00a0 \u3000"])
def test_a_text_of_blanks_becomes_a_word(blanks: str) -> None:
    told = turn(CALL, results=(ToolResult("toolu_1", blanks),), note=blanks)
    body = conversation_body(request(told, turn(SAID, note=blanks), opening=blanks, system=blanks))
    texts = [block.get("text", block.get("content")) for one in body["messages"] for block in one["content"]]
    assert all(text.strip() for text in texts if isinstance(text, str))
    assert (texts[0], texts[2], texts[4]) == (NO_TEXT, NO_TEXT, GO_ON)
    assert "system" not in body


def test_tools_system_opening_and_the_newest_results_are_marked_for_the_cache() -> None:
    told = [turn(CALL | {"id": f"toolu_{n}"}, results=(ToolResult(f"toolu_{n}", "ok"),)) for n in range(5)]
    body = conversation_body(request(*told))
    assert marks(body) == MOST_CACHE_MARKS
    assert "cache_control" in body["tools"][-1]
    assert "cache_control" in body["system"][0]
    assert "cache_control" in body["messages"][0]["content"][0]
    assert "cache_control" in body["messages"][-1]["content"][-1]
    assert marks(conversation_body(request(*told, cache=None))) == 0


def test_what_was_said_before_stays_the_same_bytes_but_for_the_mark() -> None:
    first = turn(CALL, results=(ToolResult("toolu_1", "ok"),))
    short, long = conversation_body(request(first)), conversation_body(request(first, turn(SAID, note="on")))
    assert short["tools"] == long["tools"]
    assert short["system"] == long["system"]
    assert short["messages"][:2] == long["messages"][:2]


def test_only_what_can_be_sent_back_is_kept() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "abc"}
    odd = {"type": "tool_use", "id": "toolu_2", "name": "archive", "input": "no object", "caller": {"type": "direct"}}
    kept = kept_content([{"type": "text", "text": " "}, SAID | {"citations": None}, thinking, odd, "no block"])
    assert kept == (SAID, thinking, {"type": "tool_use", "id": "toolu_2", "name": "archive", "input": "no object"})
    told = turn(*kept, results=(ToolResult("toolu_2", "Refused.", is_error=True),))
    assert conversation_body(request(told))["messages"][1]["content"][-1]["input"] == {}


def test_an_answer_without_content_leaves_no_empty_message() -> None:
    body = conversation_body(request(turn()))
    assert [one["role"] for one in body["messages"]] == ["user"]
    assert body["messages"][0]["content"][-1]["text"] == GO_ON


@pytest.mark.parametrize("stop_reason", ["tool_use", "end_turn", "max_tokens", "pause_turn", "refusal", "who_knows"])
def test_every_answer_has_its_usage_whatever_it_stopped_for(stop_reason: str) -> None:
    content = () if stop_reason == "refusal" else (SAID, CALL)
    with (
        Wire(reply(200, message(*content, stop_reason=stop_reason), {"request-id": "req_1"})) as wire,
        opened(wire.url) as model,
    ):
        answer = model.converse(request())
        (seen,) = wire.seen
    assert isinstance(answer, ConversationAnswer)
    assert (answer.stop_reason, answer.content, answer.request_id) == (stop_reason, content, "req_1")
    assert answer.usage.input_tokens == USAGE["input_tokens"]
    assert answer.cost_microcents > 0
    assert seen.target == "/v1/messages"


def test_an_answer_that_cannot_be_read_is_in_doubt() -> None:
    with Wire(reply(200, {"type": "message"})) as wire, opened(wire.url) as model, pytest.raises(Transient) as caught:
        model.converse(request())
    assert caught.value.call_state is CallState.IN_DOUBT


def test_tokens_are_counted_by_the_vendor_without_the_answers_bound() -> None:
    with Wire(reply(200, {"input_tokens": 321})) as wire, opened(wire.url) as model:
        assert model.count_tokens(request()) == 321
        (seen,) = wire.seen
    assert seen.target == "/v1/messages/count_tokens"
    assert "max_tokens" not in seen.json


def test_the_bound_by_bytes_is_above_the_counted_one() -> None:
    with opened("http://127.0.0.1:1") as model:
        bound, counted = model.most_microcents(request()), model.most_microcents(request(), 100)
    assert bound > counted > model.most_microcents(request(), 0) > 0
    assert prompt_tokens_at_most(request()) > 100
    assert NOW.year == 2026, "prices are dated"

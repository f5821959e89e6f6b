"""One question, one request, one answer with its cost; or one of our failures."""

from datetime import UTC, datetime
from typing import Any

import pytest
from anthropic import Anthropic

from domain.jobs.failures import CallState, Scope, Throttled, Transient
from providers.anthropic.conversation import conversation_body, prompt_body
from providers.anthropic.language_model import AnthropicModel
from providers.ports.language_model import LanguageModel, ModelAnswer, ModelRequest, Usage
from tests.doubles.factories import unmetered
from tests.providers.wire import BODY, Conduct, Seen, Wire, reply, trickle

NOW = datetime(2026, 11, 30, 18, tzinfo=UTC)
SCHEMA = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}
USAGE = {
    "input_tokens": 100,
    "output_tokens": 20,
    "cache_read_input_tokens": 3000,
    "cache_creation_input_tokens": 70,
    "cache_creation": {"ephemeral_5m_input_tokens": 50, "ephemeral_1h_input_tokens": 20},
}
HEADERS = ("authorization", "anthropic-version", "content-type")
CALL = {"type": "tool_use", "id": "toolu_1", "name": "classify", "input": {"label": "personal"}}


def question(model: str = "claude-haiku-5-5", **changes: Any) -> ModelRequest:  # noqa: ANN401  # fields of the request
    fields = {
        "system": "Sort the mail.",
        "mail": "Dear Ada, lunch?",
        "tool_name": "classify",
        "tool_description": "Say what the mail is.",
        "tool_schema": SCHEMA,
        **changes,
    }
    return ModelRequest(model=model, **fields)


def message(*content: object, stop_reason: str = "tool_use", **changes: object) -> dict[str, object]:
    facts = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-5-5"}
    return {**facts, "content": list(content), "stop_reason": stop_reason, "usage": USAGE, **changes}


def opened(url: str, timeout_s: float = 5) -> AnthropicModel:
    return AnthropicModel(api_key="sk-secret", base_url=url, timeout_s=timeout_s, meter=unmetered, clock=lambda: NOW)


def asked(conduct: Conduct, request: ModelRequest | None = None) -> tuple[ModelAnswer, Seen]:
    with Wire(conduct) as wire, opened(wire.url) as model:
        answer = model.ask(request or question())
        (seen,) = wire.seen
        return answer, seen


def test_it_is_a_language_model() -> None:
    with opened("http://127.0.0.1:1") as model:
        port: LanguageModel = model
        assert port is model


def test_an_answer_with_its_cost() -> None:
    answer, seen = asked(reply(200, message(CALL), {"request-id": "req_1"}))
    assert answer == ModelAnswer(
        model="claude-haiku-5-5",
        stop_reason="tool_use",
        arguments={"label": "personal"},
        usage=Usage(100, 20, 50, 20, 3000),
        cost_microcents=100 * 10 + 20 * 50 + 50 * 25 // 2 + 20 * 20 + 3000,
        request_id="req_1",
    )
    assert (seen.method, seen.target) == ("POST", "/v1/messages")
    assert seen.headers["authorization"] == "Bearer sk-secret"


@pytest.mark.parametrize("model", ["claude-haiku-5-5", "claude-sonnet-5-5", "claude-opus-5-5"])
def test_a_request_is_what_the_vendors_package_would_send(model: str) -> None:
    request = question(model).conversation
    with (
        Wire(reply(200, message(CALL, input_tokens=7))) as wire,
        opened(wire.url) as ours,
        Anthropic(api_key="sk-secret", base_url=wire.url, max_retries=0) as package,
    ):
        ours.ask(question(model))
        package.messages.create(**conversation_body(request))
        assert ours.count_tokens(request) == package.messages.count_tokens(**prompt_body(request)).input_tokens
        sent = [(seen.method, seen.target, seen.json, [seen.headers[name] for name in HEADERS]) for seen in wire.seen]
    assert sent[::2] == sent[1::2]


def test_half_a_character_of_a_mail_is_sent_as_a_question_mark() -> None:
    _, seen = asked(reply(200, message(CALL)), question(mail="a \ud83d b"))
    assert seen.json["messages"][0]["content"] == "a ? b"


def test_a_model_that_can_be_forced_is_forced() -> None:
    _, seen = asked(reply(200, message(CALL)))
    body = seen.json
    assert body["tool_choice"] == {"type": "tool", "name": "classify", "disable_parallel_tool_use": True}
    assert body["thinking"] == {"type": "disabled"}
    assert body["system"][0]["text"] == "Sort the mail."
    assert body["messages"] == [{"role": "user", "content": "Dear Ada, lunch?"}]
    assert body["max_tokens"] == 1024


@pytest.mark.parametrize(
    ("model", "thinking"),
    [("claude-sonnet-5-5", {"type": "between_tools"}), ("claude-opus-5-5", None), ("claude-unheard-of", None)],
)
def test_a_model_that_refuses_forcing_is_told_to_call_the_tool(model: str, thinking: object) -> None:
    _, seen = asked(reply(200, message(CALL)), question(model))
    body = seen.json
    assert body["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    assert body.get("thinking") == thinking
    assert (
        body["system"][0]["text"]
        == "Sort the mail.\n\nAnswer with exactly one call of the tool `classify` and nothing else."
    )


@pytest.mark.parametrize("lifetime", ["5m", "1h"])
def test_the_stable_parts_are_cached(lifetime: str) -> None:
    _, seen = asked(reply(200, message(CALL)), question(cache=lifetime))
    mark = {"type": "ephemeral", "ttl": lifetime}
    assert seen.json["tools"] == [
        {"name": "classify", "description": "Say what the mail is.", "input_schema": SCHEMA, "cache_control": mark}
    ]
    assert seen.json["system"] == [{"type": "text", "text": "Sort the mail.", "cache_control": mark}]
    _, other = asked(reply(200, message(CALL)), question(cache=lifetime, mail="Dear Bob"))
    assert {**seen.json, "messages": None} == {**other.json, "messages": None}


def test_nothing_is_cached_when_nobody_asks_and_an_empty_system_is_left_out() -> None:
    _, seen = asked(reply(200, message(CALL)), question(cache=None, system=""))
    assert b"cache_control" not in seen.body
    assert "system" not in seen.json


@pytest.mark.parametrize(
    "body",
    [
        message({"type": "text", "text": "no"}, stop_reason="refusal"),
        message(CALL, stop_reason="max_tokens"),
        message({"type": "text", "text": "label: personal"}, stop_reason="end_turn"),
        message({**CALL, "name": "send_mail"}),
        message({**CALL, "input": "personal"}),
        message({**CALL, "input": [1]}),
        message(CALL, CALL),
        message(CALL, {**CALL, "name": "send_mail"}),
        message(),
        message(stop_reason="model_context_window_exceeded"),
    ],
)
def test_an_answer_of_no_use_is_still_an_answer_with_its_cost(body: dict[str, object]) -> None:
    answer, _ = asked(reply(200, body))
    assert answer.arguments is None
    assert answer.stop_reason == body["stop_reason"]
    assert answer.usage.output_tokens == 20
    assert answer.cost_microcents == 6025


def test_thinking_before_the_call_is_passed_over() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "x"}
    answer, _ = asked(reply(200, message(thought, CALL)))
    assert answer.arguments == {"label": "personal"}


def test_cache_writes_without_their_split_count_as_short() -> None:
    usage = {"input_tokens": 1, "output_tokens": 2, "cache_creation_input_tokens": 9, "cache_read_input_tokens": None}
    answer, _ = asked(reply(200, message(CALL, usage=usage)))
    assert answer.usage == Usage(1, 2, 9, 0, 0)


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nX-Slow: ", BODY], ids=["head", "body"])
def test_an_answer_that_trickles_ends_with_the_calls_time(head: bytes) -> None:
    with (
        Wire(trickle(0.05, head)) as wire,
        opened(wire.url, timeout_s=0.4) as model,
        pytest.raises(Transient) as caught,
    ):
        model.ask(question())
    assert caught.value.call_state is CallState.IN_DOUBT


def test_without_a_key_nobody_is_called_and_all_wait() -> None:
    with (
        Wire(reply(200, message(CALL))) as wire,
        AnthropicModel(api_key="", base_url=wire.url, timeout_s=5, meter=unmetered, clock=lambda: NOW) as model,
    ):
        with pytest.raises(Throttled, match="POSTROOM_ANTHROPIC_API_KEY is not set") as caught:
            model.ask(question())
        assert wire.seen == []
    assert (caught.value.code, caught.value.scope, caught.value.provider) == (
        "anthropic.no_key",
        Scope.PROVIDER,
        "anthropic",
    )

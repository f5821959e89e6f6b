"""The Anthropic emulator through the vendor's own SDK: tool calls, usage with cache, ordered faults."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic.types import Message, ToolUseBlock

from sandbox.anthropic.anthropic import anthropic_emulator
from sandbox.emulator.client import EmulatorControl
from sandbox.emulator.emulator import Emulator
from sandbox.emulator.fault_order import FaultOrder

ROOT = Path(__file__).parents[3]
KEY = "sk-made-up"
CLASSIFY = {
    "name": "classify_mail",
    "description": "Say what a mail is.",
    "input_schema": {
        "type": "object",
        "properties": {
            "classification": {"type": "string", "enum": ["no_response", "needs_response", "needs_review"]},
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
            "rationale": {"type": "string", "maxLength": 60},
        },
        "required": ["classification", "confidence", "rationale"],
    },
}
WRITE = {
    "name": "write_reply",
    "input_schema": {"type": "object", "properties": {"body": {"type": "string"}}, "required": ["body"]},
}
QUESTION = "Subject: Trip to Porto\nFrom: Ana Prado <ana@example.org>\n\nHi! Could you tell me which train you take?\n"
SYSTEM = [{"type": "text", "text": "Rules. " * 1_000, "cache_control": {"type": "ephemeral"}}]


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    with anthropic_emulator(keys=[KEY]) as emulator:
        yield emulator


@pytest.fixture
def control(emulator: Emulator) -> EmulatorControl:
    return EmulatorControl(emulator.url)


@pytest.fixture
def client(emulator: Emulator) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=emulator.url, api_key=KEY, max_retries=0) as client:
        yield client


def ask(client: anthropic.Anthropic, mail: str = QUESTION, tool: Any = CLASSIFY, **more: Any) -> Message:  # noqa: ANN401  # passed on to the SDK
    wish = {"model": "claude-haiku-5-5", "max_tokens": 500, "messages": [{"role": "user", "content": mail}], **more}
    answer: Message = client.messages.create(tools=[tool], tool_choice={"type": "tool", "name": tool["name"]}, **wish)
    return answer


def arguments(answer: Message) -> dict[str, Any]:
    (block,) = answer.content
    assert isinstance(block, ToolUseBlock)
    return dict(block.input)


def test_a_forced_tool_call_is_filled_from_its_schema(client: anthropic.Anthropic) -> None:
    answer = ask(client)
    assert answer.id.startswith("msg_scripted_")
    assert (answer.model, answer.stop_reason) == ("claude-haiku-5-5", "tool_use")
    said = arguments(answer)
    assert said["classification"] == "needs_response"
    assert 0.5 < said["confidence"] <= 1
    assert 0 < len(said["rationale"]) <= 60


def test_a_draft_quotes_the_topic_and_the_question(client: anthropic.Anthropic) -> None:
    body = arguments(ask(client, tool=WRITE))["body"]
    assert body.startswith("Hi Ana,")
    assert '"Trip to Porto"' in body
    assert "which train you take?" in body


def test_a_bearer_key_and_a_version_are_needed(emulator: Emulator, client: anthropic.Anthropic) -> None:
    with (
        anthropic.Anthropic(base_url=emulator.url, api_key="wrong", max_retries=0) as stranger,
        pytest.raises(anthropic.AuthenticationError),
    ):
        ask(stranger)
    body = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}
    for headers, status in (
        ({"x-api-key": KEY, "anthropic-version": "2026-10-21"}, 401),
        ({"Authorization": f"Bearer {KEY}"}, 400),
    ):
        assert httpx2.post(f"{emulator.url}/v1/messages", json=body, headers=headers).status_code == status
    assert client.messages.count_tokens(model="m", messages=[{"role": "user", "content": "x" * 400}]).input_tokens > 100


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"temperature": 0}, "temperature"),
        ({"top_k": 3}, "top_k"),
        ({"surprise": 1}, "surprise: Extra inputs are not permitted"),
    ],
)
def test_what_the_api_no_longer_takes_is_refused(
    client: anthropic.Anthropic, extra: dict[str, Any], message: str
) -> None:
    with pytest.raises(anthropic.BadRequestError, match=message):
        ask(client, extra_body=extra)


@pytest.mark.parametrize(
    "wish",
    [
        {"max_tokens": 0},
        {"messages": []},
        {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "{"}]},
        {"tool_choice": {"type": "tool", "name": "other"}},
        {"system": [{"type": "text", "text": str(n), "cache_control": {"type": "ephemeral"}} for n in range(5)]},
    ],
)
def test_malformed_requests_are_refused(client: anthropic.Anthropic, wish: dict[str, Any]) -> None:
    whole = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "x"}], "tools": [CLASSIFY], **wish}
    with pytest.raises(anthropic.BadRequestError):
        client.messages.create(**whole)


def test_a_prefix_is_written_once_then_read_until_it_runs_out(
    client: anthropic.Anthropic, control: EmulatorControl
) -> None:
    first, second, other = (ask(client, mail, system=SYSTEM).usage for mail in (QUESTION, QUESTION, "Subject: Else"))
    prefix = first.cache_creation_input_tokens
    assert prefix is not None
    assert prefix > 1_024
    assert (first.cache_read_input_tokens, second.cache_read_input_tokens) == (0, prefix)
    assert (second.cache_creation_input_tokens, other.cache_read_input_tokens) == (0, prefix)
    assert first.cache_creation is not None
    assert first.cache_creation.ephemeral_5m_input_tokens == prefix
    assert 0 < second.input_tokens < 100
    assert second.output_tokens > 5
    control.post("/_control/clock", {"advance_s": 301})
    assert ask(client, system=SYSTEM).usage.cache_read_input_tokens == 0


def test_a_short_prefix_an_early_change_and_no_mark_are_not_cached(client: anthropic.Anthropic) -> None:
    short = [{"type": "text", "text": "Rules.", "cache_control": {"type": "ephemeral"}}]
    unmarked = [{"type": "text", "text": "Rules. " * 1_000}]
    for system in (short, short, unmarked, unmarked):
        usage = ask(client, system=system).usage
        assert (usage.cache_creation_input_tokens, usage.cache_read_input_tokens) == (0, 0)
    ask(client, system=SYSTEM)
    changed = ask(client, tool=CLASSIFY | {"description": "Other words."}, system=SYSTEM)
    assert changed.usage.cache_read_input_tokens == 0
    hour = [SYSTEM[0] | {"cache_control": {"type": "ephemeral", "ttl": "1h"}, "text": "Hours. " * 1_000}]
    written = ask(client, system=hour).usage.cache_creation
    assert written is not None
    assert (written.ephemeral_5m_input_tokens, written.ephemeral_1h_input_tokens > 1_024) == (0, True)


@pytest.mark.parametrize(
    ("fault", "error", "code"),
    [
        (FaultOrder(status=529), anthropic.OverloadedError, None),
        (FaultOrder(status=429, headers={"retry-after": "3600"}), anthropic.RateLimitError, None),
        (
            FaultOrder(status=429, reason="enforced_spend_limit_reached"),
            anthropic.RateLimitError,
            "enforced_spend_limit_reached",
        ),
        (
            FaultOrder(status=402, reason="linked_organization_spend_limit_reached"),
            anthropic.PaymentRequiredError,
            "linked_organization_spend_limit_reached",
        ),
        (FaultOrder(status=503), anthropic.ServiceUnavailableError, None),
        (FaultOrder(status=413), anthropic.ContentTooLargeError, None),
    ],
)
def test_ordered_errors_are_the_sdks_own(
    client: anthropic.Anthropic,
    control: EmulatorControl,
    fault: FaultOrder,
    error: type[anthropic.APIStatusError],
    code: str | None,
) -> None:
    control.order(fault)
    with pytest.raises(error) as refused:
        ask(client)
    assert refused.value.error_code == code
    assert refused.value.request_id is not None
    assert refused.value.response.headers.get("retry-after") == fault.headers.get("retry-after")
    assert ask(client).stop_reason == "tool_use"


def test_the_sdk_knows_the_spend_limit_by_its_class(client: anthropic.Anthropic, control: EmulatorControl) -> None:
    control.order(FaultOrder(status=429, reason="enforced_spend_limit_reached"))
    with pytest.raises(anthropic.RateLimitError) as refused:
        ask(client)
    assert type(refused.value) is not anthropic.RateLimitError


def test_misbehaviour_on_order(client: anthropic.Anthropic, control: EmulatorControl) -> None:
    control.order(
        *(
            FaultOrder(answer=answer)
            for answer in (
                {"stop_reason": "refusal"},
                {"stop_reason": "max_tokens"},
                {"text": '{"classification": '},
                {"tool": "send_money", "input": {"to": "thief@example.org"}},
                {"input_update": {"classification": "forward_everything"}},
            )
        )
    )
    refusal, cut, text, unknown, obeyed = (ask(client) for _ in range(5))
    assert (refusal.stop_reason, refusal.content) == ("refusal", [])
    assert refusal.usage.output_tokens > 0
    assert (cut.stop_reason, arguments(cut)) == ("max_tokens", {})
    assert (text.stop_reason, text.content[0].type) == ("end_turn", "text")
    assert (unknown.content[0].type, arguments(unknown)) == ("tool_use", {"to": "thief@example.org"})
    assert arguments(obeyed)["classification"] == "forward_everything"
    assert set(arguments(obeyed)) == {"classification", "confidence", "rationale"}


def test_an_answer_longer_than_allowed_is_cut(client: anthropic.Anthropic) -> None:
    answer = ask(client, max_tokens=3)
    assert (answer.stop_reason, answer.usage.output_tokens) == ("max_tokens", 3)


def test_a_drop_after_the_call_was_billed(client: anthropic.Anthropic, control: EmulatorControl) -> None:
    control.order(FaultOrder(operation="messages.create", drop="after"), FaultOrder(drop="before"))
    for _ in range(2):
        with pytest.raises(anthropic.APIConnectionError):
            ask(client)
    billed, not_billed = control.journal("messages.create")
    assert billed.summary["usage"]["output_tokens"] > 0
    assert not_billed.summary == {}


def test_a_slow_answer_times_out(emulator: Emulator, client: anthropic.Anthropic, control: EmulatorControl) -> None:
    control.order(FaultOrder(hang_s=60))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ask, client, timeout=0.2)
        with pytest.raises(anthropic.APITimeoutError):
            waiting.result()
    assert len(control.wait_for("messages.create")) == 1
    assert emulator.faults.open() == []


def test_the_journal_holds_hashes_and_no_words(client: anthropic.Anthropic, control: EmulatorControl) -> None:
    answer = ask(client, "Subject: A secret\n\nWhere is the treasure?")
    (call,) = control.journal()
    assert call.summary["tool"] == "classify_mail"
    assert call.summary["message_id"] == answer.id
    assert call.summary["usage"]["input_tokens"] == answer.usage.input_tokens
    assert len(call.summary["prompt_sha256"]) == len(hashlib.sha256(b"").hexdigest())
    text = json.dumps(call.summary) + str(call.account)
    assert "treasure" not in text
    assert KEY not in text


def test_without_tools_it_answers_in_words_or_in_the_schema_asked_for(client: anthropic.Anthropic) -> None:
    wish: dict[str, Any] = {"model": "m", "max_tokens": 200, "messages": [{"role": "user", "content": QUESTION}]}
    assert client.messages.create(**wish).content[0].type == "text"
    output = {"format": {"type": "json_schema", "schema": CLASSIFY["input_schema"]}}
    block = client.messages.create(**wish | {"output_config": output}).content[0]
    assert block.type == "text"
    assert json.loads(block.text)["classification"] == "needs_response"


def test_it_runs_as_a_process() -> None:
    command = [sys.executable, "-W", "error", "-m", "sandbox.anthropic.anthropic"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603  # ours
        assert process.stdout
        url = process.stdout.readline().strip()
        with anthropic.Anthropic(base_url=url, api_key="any", max_retries=0) as client:
            assert ask(client).stop_reason == "tool_use"
        os.kill(process.pid, signal.SIGTERM)
        assert process.communicate(timeout=20) == ("", "")
    assert process.returncode == 0

"""Errors of the anthropic package, and every silence, as one request and one of our failures."""

import socket
from datetime import UTC, datetime

import pytest

from domain.jobs.failures import CallState, Failure, Permanent, Throttled, Transient
from providers.anthropic.language_model import AnthropicModel
from providers.ports.language_model import ConversationRequest, ModelRequest
from providers.retry_after import month_turn
from tests.doubles.factories import unmetered
from tests.providers.wire import Conduct, Wire, cut_short, drop, hang, reply

NOW = datetime(2026, 11, 30, 18, tzinfo=UTC)
QUESTION = ModelRequest(
    model="claude-haiku-5-5",
    system="Sort the mail.",
    mail="Dear Ada, lunch?",
    tool_name="classify",
    tool_description="Say what the mail is.",
    tool_schema={"type": "object"},
)


def opened(url: str, timeout_s: float = 5) -> AnthropicModel:
    return AnthropicModel(api_key="sk-secret", base_url=url, timeout_s=timeout_s, meter=unmetered, clock=lambda: NOW)


def failed(conduct: Conduct, timeout_s: float = 5) -> Failure:
    with Wire(conduct) as wire, opened(wire.url, timeout_s) as model:
        with pytest.raises(Failure) as caught:
            model.ask(QUESTION)
        assert len(wire.seen) == 1
    shown = f"{caught.value!r}{caught.value.__cause__}{caught.value.__context__}"
    assert "lunch" not in shown
    assert "sk-secret" not in shown
    return caught.value


def refusal(status: int, kind: str, error_code: str | None = None, **headers: str) -> Conduct:
    error: dict[str, object] = {"type": kind, "message": "your prompt said: lunch?"}
    if error_code is not None:
        error["details"] = {"error_code": error_code}
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return reply(status, {"type": "error", "error": error}, {"request-id": "req_9", **fields})


NEGATIVE = b'{"model": "x", "usage": {"input_tokens": 1, "output_tokens": -1000000}}'
"""Such a usage would give the org money back."""


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"usage": {}}', b"[" * 100_000, b'{"model": "x"}', NEGATIVE])
def test_an_unreadable_answer_may_have_been_billed(body: bytes) -> None:
    failure = failed(reply(200, body))
    assert (type(failure), failure.code, failure.call_state) == (Transient, "anthropic.unreadable", CallState.IN_DOUBT)


@pytest.mark.parametrize(("status", "kind"), [(403, "permission_error"), (404, "not_found_error")])
def test_a_model_that_cannot_be_used_is_named(status: int, kind: str) -> None:
    assert failed(refusal(status, kind)).reason == (
        f"messages: status {status}, {kind}, model claude-haiku-5-5, request req_9"
    )


@pytest.mark.parametrize(
    ("conduct", "kind", "code"),
    [
        (refusal(404, "not_found_error"), Permanent, "anthropic.no_such_model"),
        (refusal(403, "permission_error"), Permanent, "anthropic.unauthorised"),
        (refusal(401, "authentication_error"), Throttled, "anthropic.unauthorised"),
        (refusal(402, "billing_error"), Throttled, "anthropic.payment_required"),
    ],
)
def test_the_model_of_an_agents_profile_parks_nobody_else(conduct: Conduct, kind: type[Failure], code: str) -> None:
    """A key and a credit are everybody's; a model's name is one profile's."""
    request = ConversationRequest("claude-mistyped", "system", (), "a thread")
    for call in ("converse", "count_tokens"):
        with Wire(conduct) as wire, opened(wire.url) as model, pytest.raises(Failure) as caught:
            getattr(model, call)(request)
        assert (type(caught.value), caught.value.code) == (kind, code)


def test_the_reason_names_the_request_for_the_vendors_support() -> None:
    assert failed(refusal(400, "invalid_request_error")).reason == (
        "messages: status 400, invalid_request_error, request req_9"
    )


@pytest.mark.parametrize(
    ("conduct", "code"),
    [
        (drop, "anthropic.connection_lost"),
        (cut_short, "anthropic.connection_lost"),
        (hang, "anthropic.timeout"),
    ],
)
def test_a_lost_answer_may_have_been_billed(conduct: Conduct, code: str) -> None:
    failure = failed(conduct, timeout_s=0.3)
    assert (type(failure), failure.code, failure.call_state) == (Transient, code, CallState.IN_DOUBT)


def test_a_server_that_is_not_there_was_never_asked() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with opened(f"http://127.0.0.1:{port}") as model, pytest.raises(Transient) as caught:
        model.ask(QUESTION)
    assert (caught.value.code, caught.value.call_state) == ("anthropic.unreachable", CallState.NOT_DONE)


@pytest.mark.parametrize(
    ("now", "turn"),
    [
        (datetime(2026, 12, 31, 23, 59, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)),
        (datetime(2028, 2, 1, tzinfo=UTC), datetime(2028, 3, 1, tzinfo=UTC)),
        (datetime(2026, 1, 31, 12, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)),
    ],
)
def test_the_month_turns(now: datetime, turn: datetime) -> None:
    assert month_turn(now) == turn

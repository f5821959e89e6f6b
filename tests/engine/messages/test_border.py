"""The border: whatever comes is read into a closed type or refused by its field, and nothing is raised."""

import base64
import json
import zlib
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, seed, settings

from engine.broker.hints import HintMessage, Unreadable
from engine.messages import border
from engine.messages.foreign import ForeignMessage, RefusedMessage
from tests.doubles.messages.odd_messages import (
    EMBED,
    as_amqp_message,
    as_redis_message,
    body,
    contract,
    envelope,
    envelopes,
    good_messages,
    killers,
    task_headers,
)

INPUTS = 10_000
EXAMPLES = -(-INPUTS // len(good_messages()))
CLOSED = (HintMessage, ForeignMessage, RefusedMessage)


def read(document: dict[str, Any]) -> HintMessage | ForeignMessage | RefusedMessage:
    return border.read(as_redis_message(json.dumps(document).encode()))


def check(item: bytes) -> str:
    """Read one input from either broker; returns what the Redis one became."""
    try:
        message = as_redis_message(item)
    except Unreadable as problem:
        kept = "unreadable"
        check_received(RefusedMessage("unknown", "unknown", problem.field, problem.reason, wants_result=False))
    else:
        received = border.read(message)
        kept = type(received).__name__
        check_received(received)
    from_amqp = as_amqp_message(item)
    if from_amqp is not None:
        check_received(border.read(from_amqp))
    return kept


def check_received(received: object) -> None:
    """What the rest of the worker relies on."""
    assert isinstance(received, CLOSED)
    if isinstance(received, RefusedMessage):
        for text in (received.task, received.task_id, received.field, received.reason):
            assert text
            assert text.isprintable()
    elif isinstance(received, HintMessage):
        assert received.named
        for what, count in received.named:
            assert type(count) is int
            assert isinstance(what, UUID) or (type(what.priority) is int and abs(what.priority) <= 100)
    elif received.contract is None:
        assert UUID(received.task_id)
    else:
        json.dumps(received.contract.payload, allow_nan=False)


@pytest.mark.parametrize("item", killers().values(), ids=killers())
def test_a_message_that_once_stopped_a_worker_is_read_or_refused(item: bytes) -> None:
    check(item)


def test_ten_thousand_odd_messages_are_read_or_refused(request: pytest.FixtureRequest) -> None:
    seen: dict[str, int] = {}

    @seed(request.config.option.fuzz_seed)
    @settings(max_examples=EXAMPLES, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(envelopes())
    def fuzz(items: list[bytes]) -> None:
        for item in items:
            kind = check(item)
            seen[kind] = seen.get(kind, 0) + 1

    fuzz()
    assert sum(seen.values()) >= INPUTS
    assert set(seen) == {"unreadable", *(kind.__name__ for kind in CLOSED)}, "not every way out was taken"


@pytest.mark.parametrize(("name", "kind"), [("hint", HintMessage), ("hints", HintMessage), ("demand", HintMessage)])
def test_ours_are_hints(name: str, kind: type) -> None:
    assert isinstance(read(good_messages()[name]), kind)


@pytest.mark.parametrize("name", ["foreign", "empty", "compressed"])
def test_foreign_messages_are_read_from_both_brokers(name: str) -> None:
    item = json.dumps(good_messages()[name]).encode()
    for message in (as_redis_message(item), as_amqp_message(item)):
        received = border.read(message)
        assert isinstance(received, ForeignMessage), received
        assert received.task == "probe_jobs.noop"


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"shadow": ["a"]}, "shadow"),
        ({"task": ["a"]}, "task"),
        ({"id": None}, "id"),
        ({"id": "no uuid"}, "id"),
        ({"eta": "tomorrow-ish"}, "eta"),
        ({"expires": 7}, "expires"),
        ({"timelimit": [10, None]}, "timelimit"),
        ({"retries": True}, "retries"),
        ({"ignore_result": "no"}, "ignore_result"),
        *(({"compression": f"application/{kind}"}, "compression") for kind in ("x-bz2", "x-lzma", "zstd")),
    ],
)
def test_a_header_is_refused_by_its_name(changed: dict[str, object], field: str) -> None:
    received = read(envelope(body({}), task_headers(task_id=str(uuid4())) | changed))
    assert isinstance(received, RefusedMessage)
    assert received.field == field


def test_a_header_that_is_not_celery_s_is_ignored() -> None:
    names = ("X-Request-ID", "Sentry-Trace", "periodic_task_name", "tenant", "Baggage", "grpc-trace-bin", "")
    received = read(envelope(body(contract()), task_headers() | dict.fromkeys(names, "a")))
    assert isinstance(received, ForeignMessage)


@pytest.mark.parametrize(
    ("given_body", "field"),
    [
        (b"7", "body"),
        (b"[[]]", "body"),
        (b'[7, "x", null]', "body"),
        (b"[[1], {}, {}]", "args"),
        (b"\xff", "body"),
        (b'[[], {"a": NaN}, {}]', "body"),
        (b'[[], {"a": 1e999}, {}]', "body"),
        (b" " * 3_000_000, "body"),
        (body({}, embed={"surprise": 1}), "embed"),
        *((body({}, embed=EMBED | {name: [{"task": "a"}]}), f"embed.{name}") for name in EMBED),
        (body(contract(org_id="nobody")), "org_id"),
        (body(contract(colour="red")), "colour"),
    ],
)
def test_a_body_is_refused_by_its_field(given_body: bytes, field: str) -> None:
    received = read(envelope(given_body, task_headers(task_id=str(uuid4()))))
    assert isinstance(received, RefusedMessage)
    assert received.field == field


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"delivery_tag": None}, "properties.delivery_tag"),
        ({"delivery_info": None}, "properties.delivery_info"),
        ({"delivery_info": {"routing_key": []}}, "properties.delivery_info.routing_key"),
        ({"priority": 10**30}, "properties.priority"),
        ({"priority": True}, "properties.priority"),
        ({"body_encoding": "base85"}, "properties.body_encoding"),
    ],
)
def test_a_property_is_refused_by_its_name(changed: dict[str, object], field: str) -> None:
    with pytest.raises(Unreadable) as refusal:
        read(envelope(body({}), task_headers(), **changed))
    assert refusal.value.field == field


def test_a_bomb_is_not_unpacked() -> None:
    packed = zlib.compress(b" " * 50_000_000)
    received = read(envelope(packed, task_headers(compression="application/x-gzip")))
    assert isinstance(received, RefusedMessage)
    assert (received.field, "unpacks to more than" in received.reason) == ("body", True)


def test_a_refusal_repeats_nothing_of_the_content() -> None:
    secret = "s3cr3t-value"
    for given_body in (body(contract(org_id=secret)), body({secret: 1}, args=[secret]), secret.encode()):
        received = read(envelope(given_body, task_headers(shadow=None)))
        assert isinstance(received, RefusedMessage)
        assert secret not in received.reason


def test_a_body_without_base64_is_read_as_it_is() -> None:
    document = envelope(b"", task_headers(), body_encoding=None) | {"body": body(contract()).decode()}
    assert isinstance(read(document), ForeignMessage)


def test_celery_s_times_become_the_job_s() -> None:
    soon, later = (datetime.now(UTC) + timedelta(hours=hours) for hours in (1, 2))
    received = read(envelope(body(contract()), task_headers(eta=soon.isoformat(), expires=later.isoformat())))
    assert isinstance(received, ForeignMessage)
    job = received.new_job()
    assert job is not None
    assert (job.run_at, job.expires_at) == (soon, later)


def test_the_earlier_end_counts_and_two_beginnings_are_refused() -> None:
    soon, later = (datetime.now(UTC) + timedelta(hours=hours) for hours in (1, 2))
    received = read(envelope(body(contract(expires_at=later.isoformat())), task_headers(expires=soon.isoformat())))
    assert isinstance(received, ForeignMessage)
    assert received.contract is not None
    assert received.contract.expires_at == soon
    twice = body(contract(scheduled_for=later.isoformat()))
    refused = read(envelope(twice, task_headers(eta=soon.isoformat())))
    assert isinstance(refused, RefusedMessage)
    assert refused.field == "eta"


def test_a_message_of_celery_s_first_protocol_is_refused() -> None:
    old = {"task": "probe_jobs.noop", "id": "old", "args": [], "kwargs": contract(), "retries": 0, "eta": None}
    received = read(envelope(json.dumps(old).encode(), {}))
    assert received == RefusedMessage(
        "unknown",
        "unknown",
        "headers",
        "name no task: only messages of Celery's protocol 2 are read",
        wants_result=False,
    )


@pytest.mark.parametrize("given", [contract(), contract(org_id="nobody")], ids=["a job", "a refusal"])
def test_a_client_says_whether_it_wants_the_result(given: dict[str, Any]) -> None:
    for ignored in (False, True):
        received = read(envelope(body(given), task_headers(ignore_result=ignored)))
        assert isinstance(received, ForeignMessage | RefusedMessage)
        assert received.wants_result is not ignored


def test_the_check_sees_what_is_not_closed() -> None:
    with pytest.raises(AssertionError):
        check_received(HintMessage("a.b", ((UUID(int=1), True),), "default"))
    with pytest.raises(AssertionError):
        check_received(base64)

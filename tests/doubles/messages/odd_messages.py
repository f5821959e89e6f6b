"""Messages as no honest client sends them: envelopes of Redis and messages of AMQP, made by changing good ones."""

import base64
import copy
import json
import pickle
import zlib
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

from hypothesis import strategies as st
from kombu.transport import virtual

from domain.jobs.job import Hint
from domain.jobs.scheduling.backlog_demand import BacklogKey
from engine.broker.hints import BODY, demand_message, hint_message
from engine.celery_patches import amqp_transport, redis_transport
from engine.messages.envelope import read_envelope

ORG = UUID(int=7)
EMBED: dict[str, Any] = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
DEEP = b'{"a":' * 5000 + b"{}" + b"}" * 5000
"""Nested deeper than Python's JSON parser supports."""


def envelope(body: bytes, headers: object, **properties: object) -> dict[str, Any]:
    """A message as kombu writes it into a list of Redis, before it is made JSON."""
    return {
        "body": base64.b64encode(body).decode(),
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": headers,
        "properties": {
            "delivery_tag": str(uuid4()),
            "delivery_info": {"exchange": "", "routing_key": "default"},
            "delivery_mode": 2,
            "body_encoding": "base64",
            "priority": 0,
            "correlation_id": "c",
        }
        | properties,
    }


def task_headers(task: str = "probe_jobs.noop", task_id: str = "an id", **given: object) -> dict[str, Any]:
    """What Celery's own clients say."""
    return {
        "lang": "py",
        "task": task,
        "id": task_id,
        "shadow": None,
        "eta": None,
        "expires": None,
        "group": None,
        "retries": 0,
        "timelimit": [None, None],
        "root_id": task_id,
        "parent_id": None,
        "argsrepr": "()",
        "kwargsrepr": "{}",
        "origin": "gen1@host",
        "ignore_result": False,
    } | given


def contract(**given: object) -> dict[str, Any]:
    """A job as a service of another language writes it."""
    return {
        "job_id": str(uuid4()),
        "job_type": "probe_jobs.noop",
        "org_id": str(ORG),
        "actor_type": "api_key",
        "actor_id": "billing",
        "request_id": "r-1",
        "correlation_id": "c-1",
        "idempotency_key": f"k-{uuid4()}",
        "created_at": "2026-11-23T12:00:00+00:00",
        "payload": {},
        "payload_version": 1,
    } | given


def body(kwargs: object, args: object = (), embed: object = EMBED) -> bytes:
    """A body of Celery's."""
    return json.dumps([list(args) if isinstance(args, tuple) else args, kwargs, embed]).encode()


def good_messages() -> dict[str, dict[str, Any]]:
    """One envelope of each kind that the fleet takes; of the same length each time, as the fuzzer needs."""
    job = contract(job_id=str(UUID(int=3)), idempotency_key="k")
    hint = hint_message([Hint(uuid4(), "probe_jobs.noop", "default")])
    several = hint_message([Hint(uuid4(), "probe_jobs.noop", "default") for _ in range(3)])
    demand = demand_message({BacklogKey("default", 0, ORG): 5, BacklogKey("default", 3, ORG): 1})
    return {
        "hint": envelope(BODY, hint),
        "hints": envelope(BODY, several),
        "demand": envelope(BODY, demand),
        "foreign": envelope(body(job), task_headers()),
        "empty": envelope(body({}), task_headers(task_id=str(uuid4()))),
        "compressed": envelope(zlib.compress(body(job)), task_headers(compression="application/x-gzip")),
    }


TRUE: Any = True

ODD_HEADERS: dict[str, list[Any]] = {
    "shadow": [["a"], {}, 7],
    "task": [7, ["a"], {}, None, "a\0", ""],
    "id": [7, ["a"], {}, None, "a\0", "", "\ud800"],
    "eta": ["tomorrow-ish", 7, [], {}, 1e999],
    "expires": ["soon", 7, "0001-01-01T00:00:00+14:00"],
    "timelimit": [7, [1], ["a", "b"], [10**30, 1]],
    "retries": ["a", [], 1e999],
    "compression": ["zstd", 7, [], "gzip"],
}
ODD_PROPERTIES: dict[str, list[Any]] = {
    "delivery_tag": [None, 7, [], {}, ""],
    "delivery_info": [None, [], {"exchange": 7}],
    "priority": [10**30, [], "x", 1e999],
    "body_encoding": ["base85", [], 7],
}
ODD_FIELDS: dict[str, list[Any]] = {
    "headers": [None, [], 7, "x", {}],
    "properties": [None, [], 7],
    "body": [None, [], 7, "*****"],
    "content-type": [None, 7, [], "text/plain", "application/x-python-serialize"],
    "content-encoding": [7, [], "utf-16"],
}
ODD_EMBEDS: list[Any] = ["x", 7, ["a"], {"a": 1}, EMBED | {"callbacks": "x"}, EMBED | {"chord": [{}]}]
ODD_PRIORITIES: list[Any] = [10**30, TRUE, {}, [], None, 1.5, "1", float("nan")]


@cache
def killers() -> dict[str, bytes]:
    """Messages that once made a worker deaf or ended it, and their siblings; packing the bombs takes seconds."""
    raw = {name: json.dumps(one).encode() for name, one in (odd_foreign() | odd_ours() | odd_bodies()).items()}
    deep = json.dumps(envelope(b"", {})).encode().replace(b'"headers": {}', b'"headers": ' + DEEP)
    return raw | {"deep headers": deep, "no envelope": b"7", "no JSON": b"{", "bytes": b"\xff", "empty": b"{}"}


def odd_foreign() -> dict[str, dict[str, Any]]:
    """A foreign message with one thing in it that is odd."""
    empty = body({})
    odd = {
        f"{name} {str(value)[:12]!r}": envelope(empty, task_headers(task_id=str(uuid4())) | {name: value})
        for name, values in ODD_HEADERS.items()
        for value in values
    }
    odd |= {
        f"{name} {str(value)[:12]!r}": envelope(empty, task_headers(), **{name: value})
        for name, values in ODD_PROPERTIES.items()
        for value in values
    }
    odd |= {
        f"{name} {str(value)[:12]!r}": envelope(empty, task_headers()) | {name: value}
        for name, values in ODD_FIELDS.items()
        for value in values
    }
    return odd | {f"embed {value!r}": envelope(body({}, embed=value), task_headers()) for value in ODD_EMBEDS}


def odd_ours() -> dict[str, dict[str, Any]]:
    """A hint or demand that no process of the fleet has sent."""
    demand = demand_message({BacklogKey("default", 0, ORG): 5})
    hint = hint_message([Hint(uuid4(), "probe_jobs.noop", "default")])
    odd = {
        f"demand of priority {str(priority)[:8]}": envelope(b"", demand | {"demand": [[priority, str(ORG), 1]]})
        for priority in ODD_PRIORITIES
    }
    odd |= {f"hint, tag {tag!r}": envelope(b"", hint, delivery_tag=tag) for tag in ODD_PROPERTIES["delivery_tag"]}
    odd |= {f"hint, shadow {what!r}": envelope(b"", hint | {"shadow": what}) for what in ODD_HEADERS["shadow"]}
    odd |= {f"hint, limits {what!r}": envelope(b"", hint | {"timelimit": what}) for what in ODD_HEADERS["timelimit"]}
    return odd | {
        "hint without base64": envelope(b"", hint) | {"body": "*****"},
        "jobs": envelope(b"", hint | {"job_ids": {"a": 1}}),
        "many jobs": envelope(b"", hint | {"job_ids": [str(uuid4())] * 5000}),
    }


def odd_bodies() -> dict[str, dict[str, Any]]:
    """A foreign message whose body is no contract."""
    headers = task_headers()
    pickled = {"content-type": "application/x-python-serialize"}
    return {
        "bomb": envelope(
            zlib.compress(b"[" + b" " * 50_000_000 + b"]", level=1), task_headers(compression="application/x-gzip")
        ),
        "cut off": envelope(zlib.compress(body({}))[:-3], task_headers(compression="application/x-gzip")),
        "half a character": envelope(b"", headers, body_encoding=None) | {"body": "\ud800"},
        "pickled": envelope(pickle.dumps([[], {}, {}]), headers) | pickled,
        "huge": envelope(b" " * 3_000_000, headers),
        "NaN": envelope(body(contract(payload={"a": float("nan")})), headers),
        "a large number": envelope(b'[[], {"payload": 1e999}, {}]', headers),
        "many digits": envelope(b'[[], {"payload": ' + b"9" * 5000 + b"}, {}]", headers),
        "deep arguments": envelope(b'[[], {"payload": ' + DEEP + b"}, {}]", headers),
        "no UTF-8": envelope(b"\xff\x00garbage", headers),
    }


texts = st.text(max_size=12) | st.sampled_from(
    ["default", "postroom", "base64", "application/json", str(ORG), "\0", "\ud800"]
)
numbers = st.integers() | st.sampled_from([10**30, -1, 2**31, 2**63]) | st.floats() | st.booleans() | st.none()
junk = st.recursive(
    numbers | texts, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
changes = st.lists(st.tuples(st.integers(0, 2**30), junk | st.just(...), st.booleans()), min_size=1, max_size=3)


def places(document: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401 - whatever JSON says
    """Each container in a document with each of its keys or positions."""
    found: list[tuple[Any, Any]] = []
    level = [document]
    while level:
        outer = level.pop()
        keys = list(outer) if isinstance(outer, dict) else range(len(outer))
        found += [(outer, key) for key in keys]
        level += [outer[key] for key in keys if isinstance(outer[key], dict | list)]
    return found


def change(document: dict[str, Any], number: int, value: object, *, inside: bool) -> None:
    """Replace or take away something in an envelope, or `inside` its body."""
    target: Any = document
    if inside:
        try:
            target = json.loads(base64.b64decode(document.get("body") or "W10="))
        except (TypeError, ValueError):
            return
    if not isinstance(target, dict | list) or not (all_places := places(target)):
        return
    outer, key = all_places[number % len(all_places)]
    if value is ...:
        del outer[key]
    else:
        outer[key] = value
    if inside:
        document["body"] = base64.b64encode(json.dumps(target).encode()).decode()


@st.composite
def envelopes(draw: Callable[[Any], Any]) -> list[bytes]:
    """What may stand in a queue's list: each good message with the same changes, seldom cut or with other bytes.

    To draw the changes takes Hypothesis five times as long as a reader takes for the message.
    """
    asked = draw(changes)
    cut = (
        draw(st.tuples(st.floats(0, 1), st.binary(max_size=4), st.booleans())) if draw(st.integers(0, 9)) == 0 else None
    )
    items = []
    for document in good_messages().values():
        for number, value, inside in asked:
            change(document, number, copy.deepcopy(value), inside=inside)
        item = json.dumps(document).encode()
        if cut is not None:
            share, other, ends = cut
            place = int(share * len(item))
            item = item[:place] + other + (b"" if ends else item[place + 1 :])
        items.append(item)
    return items


class Codec:
    """As much of a channel as a message of kombu's needs to be made."""

    def decode_body(self, given: str, encoding: str | None) -> bytes | str:
        return base64.b64decode(given) if encoding else given


def as_redis_message(item: bytes) -> virtual.Message:
    """The message that the fleet's transport makes of an envelope; raises `Unreadable`."""
    return redis_transport.PackedMessage(read_envelope(item, "default", "tag"), channel=Codec())


def as_amqp_message(item: bytes) -> Any:  # noqa: ANN401 - kombu ships no types
    """A message as it would come from RabbitMQ, as odd as the envelope; None where AMQP has no place for it."""
    try:
        document = json.loads(item)
        given, properties = base64.b64decode(document["body"]), document["properties"]
        headers = document["headers"]
    except (KeyError, RecursionError, TypeError, ValueError):
        return None
    if not isinstance(properties, dict) or not isinstance(headers, dict):
        return None
    raw = SimpleNamespace(
        body=given,
        delivery_tag=1,
        delivery_info={"exchange": "", "routing_key": "default"},
        properties={
            "application_headers": headers,
            "content_type": document.get("content-type"),
            "content_encoding": document.get("content-encoding"),
        },
    )
    return amqp_transport.PackedMessage(raw)

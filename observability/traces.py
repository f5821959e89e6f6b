"""Spans of a job from its enqueue to its children, if a receiver of traces is set.

A span's attributes are names, ids and codes, never text that a provider or a person wrote (promise P9).
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from functools import partial
from typing import Protocol
from uuid import UUID

from observability.on_demand import on_demand
from settings import Settings

Attributes = Mapping[str, str | int]
WELL_FORMED = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}", re.ASCII)
"""A `traceparent` as W3C Trace Context has it (section 3.2); a client may send any text."""
RANDOM_BITS = 2**48 - 1
"""The bits of a job's id that are random in every version of UUIDs that are made by chance or time."""


class SpanKind(StrEnum):
    """What a span is of, in OpenTelemetry's words."""

    SERVER = "SERVER"
    """A request that the gateway answers."""
    PRODUCER = "PRODUCER"
    """An enqueue."""
    CONSUMER = "CONSUMER"
    """An attempt."""
    CLIENT = "CLIENT"
    """A call of a provider."""


class Span(Protocol):
    """A span that is open."""

    @property
    def traceparent(self) -> str | None:
        """What its children are told (W3C Trace Context); None where nothing is traced."""

    def note(self, attributes: Attributes) -> None:
        """Add what was learned."""

    def fail(self, code: str) -> None:
        """Mark it as failed, with the code of the failure."""


class Tracer(Protocol):
    """Makes spans and sends them."""

    def open(self, name: str, kind: SpanKind, parent: str | None, attributes: Attributes) -> Span:
        """Open a span under this parent, or under the current one."""

    def close(self, span: Span) -> None:
        """End it."""

    def flush(self) -> None:
        """Send what has ended."""


class _Nothing:
    """The span where nothing is traced."""

    traceparent = None

    def note(self, attributes: Attributes) -> None:
        """Nothing."""

    def fail(self, code: str) -> None:
        """Nothing."""


NOTHING = _Nothing()


class _Switch:
    """Where this process sends its spans; the tracer is made by the first span, and anew by a forked child's first."""

    def __init__(self) -> None:
        self.url = ""
        self.ratio = 1.0
        self.service = "postroom"
        self.tracer: Tracer | None = None

    def on(self) -> Tracer:
        if self.tracer is None:
            make_tracer = on_demand("observability.open_telemetry:OpenTelemetryTracer")
            self.tracer = make_tracer(self.url, self.service, self.ratio)
        return self.tracer


_switch = _Switch()


def configure(settings: Settings, service: str) -> None:
    """Send this process's spans where the settings say, under the service's name; loads nothing yet."""
    _switch.url = settings.traces_url.get_secret_value() if settings.traces_url else ""
    _switch.ratio, _switch.service = settings.traces_ratio, service
    _switch.tracer = None


def is_on() -> bool:
    """Whether anything is traced."""
    return bool(_switch.url)


@contextmanager
def span(
    name: str, kind: SpanKind, *, parent: str | None = None, attributes: Attributes | None = None
) -> Iterator[Span]:
    """Trace the block, under a `traceparent` or else under the current span.

    What escapes the block marks the span as failed by the kind of the exception; its text is left out.
    """
    if not _switch.url:
        yield NOTHING
        return
    tracer = _switch.on()
    opened = tracer.open(name, kind, parent, attributes or {})
    with ExitStack() as ending:
        ending.callback(tracer.close, opened)
        ending.push(partial(_note_escape, opened))
        yield opened


def _note_escape(opened: Span, kind: type[BaseException] | None, *_error: object) -> None:
    if kind is not None:
        opened.fail(kind.__name__)


def parent_of(job_id: UUID, traceparent: str | None) -> str:
    """The parent of all attempts at a job: what it was enqueued with, or what follows from its id.

    The end of an id is random, and says whether a trace that begins with this job is among those that are kept.
    """
    if traceparent and WELL_FORMED.fullmatch(traceparent):
        return traceparent
    kept = (job_id.int & RANDOM_BITS) < _switch.ratio * (RANDOM_BITS + 1)
    return f"00-{job_id.hex}-{job_id.hex[16:]}-{int(kept):02x}"


def flush() -> None:
    """Send what has ended; for a process that ends."""
    if _switch.tracer is not None:
        _switch.tracer.flush()


def _forget_parent() -> None:
    """The tracer's thread and connections are the parent's."""
    _switch.tracer = None


os.register_at_fork(after_in_child=_forget_parent)

"""Traces across real processes: the spans that a receiver gets, and who is whose parent."""

from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from observability import traces
from settings import Settings
from tests.doubles.traces.receiver import ReceivedSpan, TraceReceiver, receiving_traces
from tests.doubles.traces.traced_jobs import Called
from tests.fleet.fleet import END_WITHIN_S, QUIET_OPTIONS, Fleet
from tests.waiting import eventually

PRODUCER, CONSUMER, CLIENT = 4, 5, 3
OPTIONS = (*QUIET_OPTIONS[:-1], "tests.doubles.traces.traced_jobs")
SECRET_WORD = "sesame-of-a-person"


@pytest.fixture
def received(fleet: Fleet) -> Iterator[TraceReceiver]:
    """A receiver to which this process and the workers of `fleet` send."""
    with receiving_traces() as receiver:
        url = f"{receiver.url}/v1/traces"
        traces.configure(Settings(database_url=SecretStr(fleet.database_url), traces_url=SecretStr(url)), "test")
        yield receiver
        traces.configure(Settings(), "test")


def spans_of(received: TraceReceiver, name: str) -> list[ReceivedSpan]:
    return [span for span in received.spans if span.name == name]


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_trace_spans_enqueue_attempts_provider_and_child(fleet: Fleet, received: TraceReceiver, pool: str) -> None:
    fleet.worker(pool=pool, options=OPTIONS, POSTROOM_TRACES_URL=f"{received.url}/v1/traces").ready()
    job_id = fleet.enqueue(Called(url=received.url, secret_word=SECRET_WORD))
    assert fleet.wait_for_end([job_id]) == {"succeeded": 1}
    fleet.check()
    traces.flush()
    eventually(lambda: spans_of(received, "probe_jobs.noop"), within=END_WITHIN_S, describe="the child's span")
    (enqueue,) = spans_of(received, "enqueue traced_jobs.called")
    attempts = sorted(spans_of(received, "traced_jobs.called"), key=lambda span: str(span.attributes["job.attempt"]))
    calls = spans_of(received, "GET google")
    (child_enqueue,) = spans_of(received, "enqueue probe_jobs.noop")
    (child,) = spans_of(received, "probe_jobs.noop")
    assert {span.trace_id for span in received.spans} == {enqueue.trace_id}
    assert [span.attributes["job.attempt"] for span in attempts] == [1, 2]
    assert [span.failed for span in attempts] == [True, False]
    assert attempts[0].attributes["error.type"] == "transient"
    # Both attempts hang under the enqueue; each call under its attempt; the child under the attempt that made it.
    assert [span.parent_id for span in attempts] == [enqueue.span_id] * 2
    assert {span.parent_id for span in calls} == {span.span_id for span in attempts}
    assert child_enqueue.parent_id == attempts[1].span_id
    assert child.parent_id == child_enqueue.span_id
    assert [span.kind for span in (enqueue, attempts[0], calls[0], child_enqueue)] == [PRODUCER, CONSUMER, CLIENT, 4]
    assert not any(SECRET_WORD.encode() in body for body in received.bodies)


def test_attempts_at_a_job_without_a_trace_share_one(fleet: Fleet, received: TraceReceiver) -> None:
    fleet.worker(options=OPTIONS, POSTROOM_TRACES_URL=f"{received.url}/v1/traces").ready()
    asked = "select postroom.enqueue('traced_jobs.called', %s, jsonb_build_object('url', %s::text, 'secret_word', 'x'))"
    [(job_id,)] = fleet.ask(asked, fleet.org, received.url)
    assert fleet.wait_for_end([job_id]) == {"succeeded": 1}
    eventually(lambda: len(spans_of(received, "traced_jobs.called")) == 2, within=END_WITHIN_S, describe="two attempts")
    found = spans_of(received, "traced_jobs.called")
    assert {(span.trace_id, span.parent_id) for span in found} == {(job_id.hex, job_id.hex[16:])}


def test_what_is_not_traced_loads_nothing_and_passes_the_callers_trace_on() -> None:
    traces.configure(Settings(), "test")
    with traces.span("anything", traces.SpanKind.CLIENT) as span:
        span.note({"a": 1})
        span.fail("code")
    assert span.traceparent is None
    assert not traces.is_on()

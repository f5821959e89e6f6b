"""A request's trace reaches the jobs that it makes."""

from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from observability import traces
from settings import Settings
from storage.postgres.database import Database
from tests.doubles.traces.receiver import TraceReceiver, receiving_traces
from tests.gateway.mailboxes import EMAIL, connect
from tests.gateway.serving import ask, serve
from tests.gateway.test_webhooks import NEWS, TRACE, hook
from tests.providers.google import signing
from tests.providers.google.signing import Signer
from tests.providers.wire import Wire, reply


@pytest.fixture
def received() -> Iterator[TraceReceiver]:
    with receiving_traces() as receiver:
        traces.configure(Settings(traces_url=SecretStr(f"{receiver.url}/v1/traces")), "test")
        yield receiver
        traces.configure(Settings(), "test")


@pytest.mark.usefixtures("sync_type")
def test_a_job_hangs_under_the_request_that_made_it(
    pushing: Settings, store: Database, received: TraceReceiver
) -> None:
    connect(store)
    signer = Signer("key-1")
    with Wire(reply(200, signer.certificates)) as wire:
        believing = {
            "google_url": wire.url,
            "pubsub_audience": signing.AUDIENCE,
            "pubsub_service_account": signing.SENDER,
        }
        with serve(pushing.model_copy(update=believing)) as url:
            headers = {"Authorization": signer.header(), "traceparent": TRACE}
            assert ask(hook(url), NEWS, headers).status == 204
    traces.flush()
    request, enqueue = (
        next(span for span in received.spans if span.name == name) for name in ("POST", "enqueue gmail.sync")
    )
    with store.ledger() as tx:
        job = tx.raw("select traceparent from jobs")[0]
    _, trace_id, caller, _ = TRACE.split("-")
    assert (request.trace_id, request.parent_id) == (trace_id, caller)
    assert (enqueue.trace_id, enqueue.parent_id) == (trace_id, request.span_id)
    assert job.traceparent.split("-")[1:3] == [trace_id, enqueue.span_id]
    assert not any(EMAIL.encode() in body for body in received.bodies)

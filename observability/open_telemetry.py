"""OpenTelemetry's part of traces: spans in W3C form, sent in batches by OTLP over HTTP."""

from typing import Any

from opentelemetry import context
from opentelemetry import trace as api
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from observability.traces import Attributes, SpanKind

SEND_TIMEOUT_S = 5.0
SEND_EVERY_MS = 1000
"""A child of a pool ends without a word: what it has not sent is lost, so it sends each second."""

W3C = TraceContextTextMapPropagator()


class OpenSpan:
    """A span that is current until it is closed."""

    def __init__(self, span: api.Span) -> None:
        """Make it current."""
        self.span = span
        self._token = context.attach(api.set_span_in_context(span))

    @property
    def traceparent(self) -> str | None:
        """What its children are told."""
        carrier: dict[str, str] = {}
        W3C.inject(carrier, api.set_span_in_context(self.span))
        return carrier.get("traceparent")

    def note(self, attributes: Attributes) -> None:
        """Add what was learned."""
        self.span.set_attributes(dict(attributes))

    def fail(self, code: str) -> None:
        """Mark it as failed."""
        self.span.set_attribute("error.type", code)
        self.span.set_status(api.StatusCode.ERROR)

    def end(self) -> None:
        """End it; the span before it is current again."""
        context.detach(self._token)
        self.span.end()


class OpenTelemetryTracer:
    """Implements `observability.traces.Tracer`; its own thread sends, and drops spans when no receiver takes them."""

    def __init__(self, url: str, service: str, ratio: float, exporter: SpanExporter | None = None) -> None:
        """Nothing connects yet; nothing is read from OpenTelemetry's own variables of the environment."""
        exporter = exporter or OTLPSpanExporter(endpoint=url, timeout=SEND_TIMEOUT_S)
        self._provider = TracerProvider(
            sampler=ParentBased(TraceIdRatioBased(ratio)),
            resource=Resource({"service.name": service}),
            shutdown_on_exit=True,
        )
        self._provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=SEND_EVERY_MS))
        self._tracer = self._provider.get_tracer("postroom")

    def open(self, name: str, kind: SpanKind, parent: str | None, attributes: Attributes) -> OpenSpan:
        """Open a span under this parent, or under the current one."""
        under: Any = W3C.extract({"traceparent": parent}, context.Context()) if parent else None
        kinds = api.SpanKind
        return OpenSpan(self._tracer.start_span(name, under, kinds[kind.value], dict(attributes)))

    def close(self, span: OpenSpan) -> None:
        """End it."""
        span.end()

    def flush(self) -> None:
        """Send what has ended."""
        self._provider.force_flush(int(SEND_TIMEOUT_S * 1000))

"""A receiver of traces, as a process sends them: OTLP in protobuf over HTTP, kept in memory."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from sandbox.servers.free_port import LOOPBACK


@dataclass(frozen=True)
class ReceivedSpan:
    """One span, with ids in hexadecimal digits."""

    name: str
    kind: int
    trace_id: str
    span_id: str
    parent_id: str
    attributes: dict[str, object]
    failed: bool


@dataclass
class TraceReceiver:
    """What has been received, and the bytes that were."""

    url: str = ""
    spans: list[ReceivedSpan] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def take(self, body: bytes) -> None:
        self.bodies.append(body)
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                self.spans += [
                    ReceivedSpan(
                        one.name,
                        one.kind,
                        one.trace_id.hex(),
                        one.span_id.hex(),
                        one.parent_span_id.hex(),
                        {pair.key: pair.value.string_value or pair.value.int_value for pair in one.attributes},
                        one.status.code == 2,
                    )
                    for one in scope.spans
                ]


@contextmanager
def receiving_traces() -> Iterator[TraceReceiver]:
    """Receive at `url`; whatever else is asked of the server is answered 200."""
    received = TraceReceiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.take(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
            self.do_GET()

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the standard library's name
            """Nothing."""

    with ThreadingHTTPServer((LOOPBACK, 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        received.url = f"http://{LOOPBACK}:{server.server_address[1]}"
        try:
            yield received
        finally:
            server.shutdown()
            thread.join()

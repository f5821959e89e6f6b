"""The HTTP port on which a process shows its metrics and its health: `/metrics` and `/healthz`."""

import json
import os
import sys
import threading
import weakref
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import structlog

from domain.jobs.monitoring.metrics import HEALTHY
from observability.health import Health
from observability.metrics import CONTENT_TYPE, Exporter
from observability.samples import Sample, Samples, Source

log = structlog.get_logger(__name__)

REQUEST_TIMEOUT_S = 5.0
"""How long a client may take to send a line or to read an answer: Prometheus itself gives up after 10 s by default."""


class ProbeServer(ThreadingHTTPServer):
    """Serves in threads of its own, so that a scrape never waits for the process's work, nor the work for a scrape."""

    daemon_threads = True

    def __init__(self, host: str, port: int, health: Health) -> None:
        """Take the port; raises `OSError` when somebody has it."""
        self.exporter = Exporter()
        self.health = health
        self.exporter.add(self._health_samples)
        super().__init__((host, port), _Handler)
        _open.add(self)

    def add_source(self, source: Source) -> None:
        """Show what this source says, too."""
        self.exporter.add(source)

    @property
    def port(self) -> int:
        """The port that is served."""
        return int(self.server_address[1])

    def begin(self) -> None:
        """Serve until `end`."""
        threading.Thread(target=self.serve_forever, name="probes", daemon=True).start()

    def end(self) -> None:
        """Stop serving, and give the port back."""
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401, ARG002 - the standard library's signature
        """Say that an answer failed; a client that went away is no news."""
        log.info("probe_not_answered", error=getattr(sys.exc_info()[0], "__name__", "unknown"))

    def _health_samples(self) -> Samples:
        findings = self.health.findings()
        return {HEALTHY: [Sample((name,), float(finding.ok)) for name, finding in findings.items()]}


class _Handler(BaseHTTPRequestHandler):
    server: ProbeServer
    timeout = REQUEST_TIMEOUT_S
    server_version = "postroom"
    sys_version = ""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/metrics":
            self._answer(HTTPStatus.OK, CONTENT_TYPE, self.server.exporter.text())
        elif path == "/healthz":
            findings = self.server.health.findings()
            healthy = all(finding.ok for finding in findings.values())
            checks = {name: finding._asdict() for name, finding in findings.items()}
            document = {"status": "ok" if healthy else "not healthy", "checks": checks}
            status = HTTPStatus.OK if healthy else HTTPStatus.SERVICE_UNAVAILABLE
            self._answer(status, "application/json", json.dumps(document).encode())
        else:
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"/metrics or /healthz\n")

    def _answer(self, status: HTTPStatus, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the standard library's name
        """Nothing: a probe comes every few seconds."""


_open: weakref.WeakSet[ProbeServer] = weakref.WeakSet()


def _forget_parent() -> None:
    """A forked child would hold the port when its parent has ended."""
    for server in tuple(_open):
        server.socket.close()
    _open.clear()


os.register_at_fork(after_in_child=_forget_parent)

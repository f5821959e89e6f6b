"""What a process shows: its port, its health, its word to systemd."""

import json
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from domain.jobs.monitoring.metrics import DURATION, ENQUEUED, HELD
from observability.health import Finding, Health
from observability.probe_server import ProbeServer
from observability.probes import show
from observability.samples import Sample
from observability.supervisor import WatchdogNotifier, notify_supervisor
from settings import Settings
from tests.house.reading import ROOT

HOST = "127.0.0.1"

FORKS = """
import os
from observability.health import Health
from observability.probe_server import ProbeServer
server = ProbeServer("127.0.0.1", 0, Health())
server.begin()
child = os.fork()
if child == 0:
    os._exit(0 if server.socket.fileno() == -1 else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


LOADS = """
import sys, engine.app, gateway.app
off = ("prometheus_client", "opentelemetry.exporter", "opentelemetry.sdk.trace")
raise SystemExit(", ".join(name for name in off if name in sys.modules) or 0)
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    """Run a program of this repository in a process of its own."""
    words = [sys.executable, "-c", program]
    return subprocess.run(words, cwd=ROOT, check=False, capture_output=True, text=True)  # noqa: S603  # constants of this file


@pytest.fixture
def health() -> Health:
    return Health()


@pytest.fixture
def server(health: Health) -> Iterator[ProbeServer]:
    made = ProbeServer(HOST, 0, health)
    made.begin()
    yield made
    made.end()


def get(server: ProbeServer, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://{HOST}:{server.port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def test_a_scrape_reads_every_kind_of_metric(server: ProbeServer) -> None:
    buckets = (("1", 2.0), ("+Inf", 3.0))
    server.add_source(
        lambda: {
            ENQUEUED: [Sample(("a.b", "default"), 7)],
            HELD: [Sample((), 2)],
            DURATION: [Sample(("a.b", "default"), 4.5, buckets)],
        }
    )
    status, text = get(server, "/metrics")
    assert status == HTTPStatus.OK
    found = {
        (sample.name, sample.labels.get("le")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert found["jobs_enqueued_total", None] == 7
    assert found["worker_held_jobs", None] == 2
    assert found["jobs_duration_seconds_bucket", "1"] == 2
    assert found["jobs_duration_seconds_count", None] == 3
    assert found["jobs_duration_seconds_sum", None] == 4.5
    assert ("process_resident_memory_bytes", None) in found


def test_health_is_asked_each_time_and_names_what_fails(server: ProbeServer, health: Health) -> None:
    assert get(server, "/healthz")[0] == HTTPStatus.OK
    finding = Finding(ok=False, said="away for 400 s")
    health.add("broker", lambda: finding)
    status, text = get(server, "/healthz")
    assert status == HTTPStatus.SERVICE_UNAVAILABLE
    assert json.loads(text) == {"status": "not healthy", "checks": {"broker": {"ok": False, "said": "away for 400 s"}}}
    assert 'process_healthy{check="broker"} 0.0' in get(server, "/metrics")[1]
    finding = Finding(ok=True, said="there")
    assert get(server, "/healthz")[0] == HTTPStatus.OK


def test_a_client_that_says_nothing_holds_nobody_up(server: ProbeServer) -> None:
    with socket.create_connection((HOST, server.port)):
        assert get(server, "/healthz")[0] == HTTPStatus.OK


def test_a_forked_child_does_not_hold_the_port() -> None:
    assert run(FORKS).returncode == 0


def test_a_port_that_somebody_has_is_done_without(server: ProbeServer, health: Health) -> None:
    assert show(Settings(metrics_port=server.port), health) is None


def test_without_a_port_nothing_is_served(health: Health) -> None:
    assert show(Settings(metrics_port=0), health) is None


def test_what_is_off_is_not_loaded() -> None:
    ended = run(LOADS)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_systemd_hears_of_a_healthy_process_only(tmp_path: Path, health: Health) -> None:
    address = str(tmp_path / "notify")
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel,
    ):
        heard.bind(address)
        notifier = WatchdogNotifier(address, 60.0, health)
        health.add("lease", lambda: Finding(ok=False, said="0 s left"))
        notifier.notify(channel)
        health.add("lease", lambda: Finding(ok=True, said="60 s left"))
        notifier.notify(channel)
        heard.settimeout(0)
        assert heard.recv(100) == b"WATCHDOG=1"
        with pytest.raises(BlockingIOError):
            heard.recv(100)


def test_nobody_is_told_without_a_supervisor(health: Health) -> None:
    assert notify_supervisor("", 0, health) is None


def test_systemds_own_names_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", "/run/systemd/notify")
    monkeypatch.setenv("WATCHDOG_USEC", "120000000")
    settings = Settings()
    assert (settings.notify_socket, settings.watchdog_usec) == ("/run/systemd/notify", 120_000_000)

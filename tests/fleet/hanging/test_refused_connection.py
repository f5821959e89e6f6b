"""A worker whose broker's connection is refused says why, in the words of doctor, and goes on trying."""

from pathlib import Path

import pytest

from sandbox.servers.free_port import LOOPBACK
from tests.engine.celery_patches.tls_listener import Listener, make_certificate
from tests.fleet.fleet import Fleet

PASSWORD = "hunter2-secret"


@pytest.mark.parametrize(
    ("scheme", "tail", "cause"),
    [
        ("rediss", "", "its certificate is not taken: self-signed certificate"),
        ("rediss", "?ssl_ca_certs=/nonexistent.pem", "a file of its URL cannot be read: No such file or directory"),
        ("redis", "", "ended the connection: "),
    ],
)
def test_a_worker_says_why_its_broker_is_refused(
    fleet: Fleet, tmp_path: Path, scheme: str, tail: str, cause: str
) -> None:
    with Listener(make_certificate(tmp_path)) as front:
        url = f"{scheme}://:{PASSWORD}@{LOOPBACK}:{front.port}/0{tail}"
        worker = fleet.worker(POSTROOM_BROKER_URL=url)
        worker.wait_for_log(f'"cause": "{cause}')
        assert worker.alive
        assert PASSWORD not in worker.logs()

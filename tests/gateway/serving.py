"""The gateway behind a real uvicorn, in a thread of the test's process."""

import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import uvicorn
from pydantic import SecretStr

from engine.app import publish_catalogue
from engine.runtime import Runtime, install
from gateway.app import create_app
from gateway.http.bounded_protocol import BoundedProtocol
from operations.fleet_checks import read_clock
from settings import Settings
from storage.postgres.store_mark import mark_store
from tests.servers.servers import TEMPLATE, SessionServers, temporary_database
from tests.waiting import eventually


@dataclass(frozen=True)
class HttpAnswer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401 - JSON may be anything
        return json.loads(self.body)


@contextmanager
def shared_database(servers: SessionServers, folder: Path) -> Iterator[Settings]:
    """Settings of a database with a published catalogue for several tests, of which each has orgs of its own."""
    with temporary_database(servers, template=TEMPLATE) as url:
        settings = Settings(database_url=SecretStr(url), artifacts_url=SecretStr(f"file://{folder}"))
        mark_store(settings)
        process = Runtime(settings)
        install(process)
        publish_catalogue()
        install(None)
        process.close()
        yield settings


@contextmanager
def serve(
    settings: Settings,
    http: type[BoundedProtocol] = BoundedProtocol,
    machine_clock: Callable[[], datetime] = read_clock,
) -> Iterator[str]:
    """Serve until the end of the block; yields the gateway's URL."""
    app = create_app(settings, machine_clock=machine_clock)
    # No WebSockets, or uvicorn imports what warns.
    config = uvicorn.Config(app, http=http, ws="none", log_config=None, lifespan="on")
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        eventually(lambda: server.started, describe="uvicorn never started")
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join(10)


def ask(
    url: str, body: bytes | None = None, headers: Mapping[str, str] | None = None, method: str | None = None
) -> HttpAnswer:
    """One request, by default a POST when there is a body; an answer of any status."""
    request = urllib.request.Request(url, body, dict(headers or {}), method=method)  # noqa: S310  # the test's own
    try:
        with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310  # as above
            return HttpAnswer(response.status, dict(response.headers), response.read())
    except urllib.error.HTTPError as error:
        with error:
            return HttpAnswer(error.code, dict(error.headers), error.read())

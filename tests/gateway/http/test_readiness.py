"""Probes are answered before they give up, and one examination at a time serves them all."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Sequence
from threading import Event, Semaphore

from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI
from starlette.types import Message
from structlog.testing import capture_logs

from gateway.app import create_app
from gateway.http.readiness import Readiness
from settings import Settings
from storage.postgres.readiness import Check, silent_checks

NO_CATALOGUE = 503
"""No worker has told this database of its job types."""
UNDER_WAY = """
import asyncio
from threading import Event
from gateway.http.readiness import Readiness
asyncio.run(Readiness(Event().wait, (), within_s=0.01).checks())
"""
FOUND = (Check("ledger role", ok=True, finding="logged in"),)


def test_an_examination_that_takes_long_is_not_waited_for_and_not_begun_twice() -> None:
    answered, begun = Event(), Semaphore(0)

    def examine() -> Sequence[Check]:
        begun.release()
        answered.wait()
        return FOUND

    readiness = Readiness(examine, silent_checks(), within_s=0.01)

    async def ask() -> None:
        for _ in range(2):
            assert [check.ok for check in await readiness.checks()] == [False] * len(silent_checks())
        assert begun.acquire(timeout=10), "its thread begins"
        assert not begun.acquire(blocking=False)
        answered.set()

    asyncio.run(ask())


def test_each_who_asks_after_an_examination_gets_another() -> None:
    begun = list[int]()

    def examine() -> Sequence[Check]:
        begun.append(1)
        return FOUND

    readiness = Readiness(examine, silent_checks())
    assert asyncio.run(readiness.checks()) == asyncio.run(readiness.checks()) == FOUND
    assert len(begun) == 2


def test_an_examination_that_raises_is_logged_in_full_and_is_not_ready() -> None:
    begun = list[int]()

    def examine() -> Sequence[Check]:
        begun.append(1)
        if len(begun) == 1:
            raise KeyError("a mistake of ours")
        return FOUND

    readiness = Readiness(examine, silent_checks())
    with capture_logs() as logged:
        (check,) = asyncio.run(readiness.checks())
    assert (check.ok, check.finding) == (False, "the examination failed")
    assert [(line["event"], line["exc_info"]) for line in logged] == [("examination_failed", True)]
    assert asyncio.run(readiness.checks()) == FOUND, "whoever asks next gets another"


def test_a_process_ends_although_an_examination_has_no_end() -> None:
    subprocess.run([sys.executable, "-c", UNDER_WAY], check=True, timeout=60)  # noqa: S603 - a program of this test


def test_an_end_waits_for_an_examination_no_longer_than_a_probe_does() -> None:
    answered = Event()
    readiness = Readiness(lambda: FOUND * answered.wait(), (), within_s=0.01)
    assert asyncio.run(readiness.checks()) == ()
    readiness.end()
    answered.set()


def test_what_is_said_meanwhile_names_the_database_and_what_to_do() -> None:
    first, *others = silent_checks()
    assert (first.finding, first.answers) == ("PostgreSQL: it did not answer", False)
    assert all(check.remedy == "mend the database first" for check in others)


async def status_of(app: FastAPI, path: str) -> int:
    """By which status one GET is answered, in the loop and the task of the caller."""
    answers = list[Message]()

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        answers.append(message)

    scope = {"type": "http", "http_version": "1.1", "method": "GET", "scheme": "http", "root_path": ""}
    await app(scope | {"path": path, "query_string": b"", "headers": []}, receive, send)
    return int(answers[0]["status"])


def test_probes_are_answered_while_requests_hold_every_thread(settings: Settings) -> None:
    app = create_app(settings)

    async def probe() -> list[int]:
        threads = current_default_thread_limiter()
        threads.total_tokens = 1
        async with app.router.lifespan_context(app), threads:
            return [await status_of(app, path) for path in ("/healthz", "/readyz")]

    assert asyncio.run(probe()) == [200, NO_CATALOGUE]


def test_an_application_that_ends_leaves_no_thread_that_borrows_connections(settings: Settings) -> None:
    app = create_app(settings)

    async def serve_once() -> None:
        async with app.router.lifespan_context(app):
            assert await status_of(app, "/readyz") == NO_CATALOGUE

    asyncio.run(serve_once())
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("readiness")]

"""Viewers over HTTP: those who wait for news, never read, give up or come all at once take nothing of the others'."""

import http.client
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from psycopg import Connection

from domain.orgs.access.api_keys import Role
from domain.orgs.access.operators import OperatorRole
from gateway.console.pulse import STREAMS_OF_OPERATOR
from settings import Settings
from storage.postgres.database import Database
from tests.doubles.factories import enqueue_one, make_job_type, make_org
from tests.gateway.api.conftest import client_of
from tests.gateway.console.conftest import SignIn
from tests.gateway.console.signed import SignedBrowser, signed_cookie
from tests.gateway.serving import HttpAnswer, ask, serve
from tests.waiting import eventually

CLOSED = "insert into gates (scope, key, reason, actor) values ('queue', 'default', 'a test', 'ada')"
SLOW = "create policy slow on orgs as restrictive for select to postroom_ledger using (pg_sleep(60)::text is not null)"
"""Every page reads the names of orgs."""
SLEEPING = (
    "select count(*) from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'"
    " and application_name = 'postroom:postroom_ledger'"
)


class Stream:
    """What a browser hears of the pulse."""

    def __init__(self, connection: http.client.HTTPConnection, browser: SignedBrowser, query: str) -> None:
        connection.request("GET", f"/console/pulse{query}", headers={"Cookie": browser.cookie})
        self.response = connection.getresponse()

    def until(self, words: bytes) -> None:
        """Read on to the line that begins with these words."""
        while not (line := self.response.readline()).startswith(words):
            assert line, "the stream has ended"

    def rest(self) -> bytes:
        """All that comes until the end; raises where the answer is cut off."""
        return self.response.read()


@contextmanager
def watching(browser: SignedBrowser, query: str = "") -> Iterator[Stream]:
    parts = urlsplit(browser.url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=30)
    try:
        yield Stream(connection, browser, query)
    finally:
        connection.close()


def send_only(browser: SignedBrowser, path: str) -> socket.socket:
    """Ask for a page, and never read."""
    parts = urlsplit(browser.url)
    sent = socket.create_connection((str(parts.hostname), int(parts.port or 0)), timeout=30)
    sent.sendall(f"GET /console{path} HTTP/1.1\r\nHost: a\r\nCookie: {browser.cookie}\r\n\r\n".encode())
    return sent


def at_once(asked: list[Callable[[], HttpAnswer]]) -> list[HttpAnswer]:
    with ThreadPoolExecutor(len(asked)) as threads:
        return [one.result() for one in [threads.submit(one) for one in asked]]


def test_ten_viewers_hear_of_each_change_beside_one_who_never_reads(
    sign_in: SignIn, store: Database, database: Connection, org: UUID
) -> None:
    make_job_type(store)
    job_id = enqueue_one(store, org)
    silent = send_only(sign_in(), "/pulse")
    with ExitStack() as open_streams:
        streams = [open_streams.enter_context(watching(sign_in(), f"?watch={job_id}")) for _ in range(10)]
        for one in streams:
            one.until(b"event: changed")
        database.execute("update jobs set priority = 1 where id = %s", (job_id,))
        database.execute(CLOSED)
        for one in streams:
            one.until(b"event: ")
            one.until(b"event: ")
    silent.close()


def test_an_operator_of_another_org_hears_nothing_of_a_job(
    sign_in: SignIn, store: Database, database: Connection, org: UUID
) -> None:
    make_job_type(store)
    job_id = enqueue_one(store, org)
    browser = sign_in(OperatorRole.SUPPORT, make_org(database, "the others"))
    assert browser.get("/pulse").status == 204
    with watching(browser, f"?watch={job_id}") as stream:
        assert stream.response.status == 200
        stream.until(b"retry")
        database.execute("delete from operator_sessions")
        assert [line for line in stream.rest().splitlines() if line.startswith(b"event")] == [b"event: over"]


@pytest.mark.parametrize(
    "end",
    [
        "delete from operator_sessions",
        "update operator_sessions set seen_at = now() - interval '1 day'",
        "update operators set deactivated_at = now(), password_hash = null",
    ],
)
def test_a_stream_ends_with_its_session(admin: SignedBrowser, database: Connection, end: str) -> None:
    with watching(admin) as stream:
        stream.until(b"event: attention")
        database.execute(end.encode())
        assert b"event: over" in stream.rest()


def test_streams_end_when_the_gateway_stops(settings: Settings, store: Database) -> None:
    with ExitStack() as streams:
        with serve(settings.model_copy(update={"public_url": "http://127.0.0.1"})) as url:
            browser = SignedBrowser(url, signed_cookie(store, OperatorRole.ADMIN))
            stream = streams.enter_context(watching(browser))
            stream.until(b"event: attention")
        assert b"over" not in stream.rest()


def test_whoever_never_reads_holds_streams_of_their_own_alone(admin: SignedBrowser, sign_in: SignIn) -> None:
    held = [send_only(admin, "/pulse") for _ in range(STREAMS_OF_OPERATOR)]
    refused = eventually(lambda: one if (one := _begun(admin)) is not None else None, describe="no stream was refused")
    assert refused is not None
    assert (refused.status, refused.headers["retry-after"]) == (429, "5")
    assert b"other live pages are open" in refused.body
    with watching(sign_in()) as other:
        other.until(b"event: attention")
    held.pop().close()
    eventually(lambda: _begun(admin) is None, describe="the slot of a browser that left is never free")
    for one in held:
        one.close()


def _begun(browser: SignedBrowser) -> HttpAnswer | None:
    """None when a stream begins; its refusal otherwise."""
    with watching(browser) as stream:
        if stream.response.status == 200:
            return None
        return HttpAnswer(
            stream.response.status, {k.lower(): v for k, v in stream.response.getheaders()}, stream.response.read()
        )


def test_strangers_hear_nothing(admin: SignedBrowser) -> None:
    assert b"Sign in" in ask(f"{admin.url}/console/pulse").body


def test_slow_pages_are_answered_with_advice_and_leave_the_api_and_the_look_ups_alone(
    sign_in: SignIn, served: str, store: Database, database: Connection, org: UUID
) -> None:
    api, browsers = client_of(store, served, org, Role.READER), [sign_in() for _ in range(5)]
    database.execute(SLOW)
    with ThreadPoolExecutor(10) as threads:
        pages = [threads.submit(one.get, "/reminders") for one in browsers for _ in range(2)]
        eventually(lambda: database.execute(SLEEPING).fetchone() == (3,), describe="the pages are not made")
        assert ask(f"{served}/v1/jobs", headers={"Authorization": f"Bearer {api.key}"}).status == 200
        with watching(browsers[0]) as stream:
            stream.until(b"event: attention")
        answers = [one.result() for one in pages]
    assert {one.status for one in answers} == {503}
    assert all(one.headers["retry-after"] == "1" for one in answers)
    said = [b"Narrow the time" in one.body or b"Other pages are being made" in one.body for one in answers]
    assert all(said)
    assert any(b"Narrow the time" in one.body for one in answers)
    database.execute("drop policy slow on orgs")
    assert browsers[0].get("/reminders").status == 200


def test_pages_that_were_given_up_leave_nothing_behind(admin: SignedBrowser, org: UUID, database: Connection) -> None:
    assert org
    database.execute(SLOW)
    given_up = [send_only(admin, "/reminders") for _ in range(2)]
    eventually(lambda: database.execute(SLEEPING).fetchone() == (2,), describe="the pages are not made")
    for one in given_up:
        one.close()
    eventually(lambda: database.execute(SLEEPING).fetchone() == (0,), describe="their statements go on")
    database.execute("drop policy slow on orgs")
    assert admin.get("/reminders").status == 200


def test_a_page_that_is_opened_two_hundred_times_at_once_is_made_or_refused(admin: SignedBrowser) -> None:
    answers = at_once([lambda: admin.get("/reminders")] * 200)
    made = [one for one in answers if one.status == 200]
    refused = [one for one in answers if one.status != 200]
    assert made
    assert all(one.status == 503 and b"Other pages are being made" in one.body for one in refused)
    assert admin.get("/reminders").status == 200


def test_what_has_changed_meanwhile_is_a_conflict(admin: SignedBrowser, store: Database, org: UUID) -> None:
    make_job_type(store)
    job_id = enqueue_one(store, org)
    answer = admin.post("/jobs/retry", {"job_id": job_id, "confirmed": "yes"})
    assert answer.status == 409

"""The pulse: live numbers for who looks, nothing while nobody looks, an end with the session."""

import asyncio
import urllib.request
from collections.abc import Iterator
from uuid import uuid4

import pytest
from psycopg import Connection

from domain.jobs.failures import Throttled
from gateway.console.pulse import STREAMS_OF_OPERATOR, Pulse
from gateway.console.reading import ConsoleReads
from settings import Settings
from tests.gateway.console.signed import SignedBrowser
from tests.gateway.serving import ask

CLOSED = "insert into gates (scope, key, reason, actor) values ('queue', 'default', 'a test', 'ada')"


@pytest.fixture
def reads(settings: Settings) -> Iterator[ConsoleReads]:
    made = ConsoleReads(settings)
    yield made
    made.stop()


def test_it_sleeps_without_viewers_and_shows_the_newest_to_each(reads: ConsoleReads, database: Connection) -> None:
    async def play() -> None:
        pulse = Pulse(reads, beat_s=0.01)
        assert not pulse.is_awake
        with pulse.watch() as first:
            assert pulse.is_awake
            async with asyncio.timeout(30):
                await first.changed.wait()
            assert "<b>0</b> closed gates" in first.waiting["attention"]
            with pulse.watch() as second:
                assert second.waiting == first.waiting
                first.waiting.clear()
                first.changed.clear()
                database.execute(CLOSED)
                async with asyncio.timeout(30):
                    await first.changed.wait()
                assert "<b>1</b> closed gates" in first.waiting["attention"]
                assert second.waiting == first.waiting
        assert not pulse.is_awake

    asyncio.run(play())


def test_an_operator_has_so_many_streams_and_no_more(reads: ConsoleReads) -> None:
    pulse, operator_id = Pulse(reads), uuid4()
    held = [pulse.streams.hold(operator_id) for _ in range(STREAMS_OF_OPERATOR)]
    for one in held:
        one.__enter__()
    with pytest.raises(Throttled), pulse.streams.hold(operator_id):
        pass
    with pulse.streams.hold(uuid4()):
        pass
    for one in held:
        one.__exit__(None, None, None)


def test_a_stream_begins_with_the_numbers(admin: SignedBrowser) -> None:
    request = urllib.request.Request(f"{admin.url}/console/pulse", headers={"Cookie": admin.cookie})  # noqa: S310 - the test's own
    with urllib.request.urlopen(request, timeout=30) as stream:  # noqa: S310 - as above
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = [stream.readline().decode().strip() for _ in range(4)]
    assert "event: attention" in lines


def test_no_stream_is_for_strangers(admin: SignedBrowser) -> None:
    answer = ask(f"{admin.url}/console/pulse")
    assert b"Sign in" in answer.body

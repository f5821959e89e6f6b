"""The pulse: live numbers and changes for who looks, nothing while nobody looks."""

import asyncio
from collections.abc import Callable, Iterator
from typing import TypeVar
from uuid import UUID, uuid4

import pytest
from psycopg import Connection
from starlette.types import Message

from domain.jobs.failures import Throttled
from domain.orgs.access.operators import OperatorRole
from gateway.console.pulse import STREAMS_OF_OPERATOR, Pulse, PulseStream, Viewer
from gateway.console.reading import ConsoleReads
from settings import Settings
from storage.postgres.database import Database
from tests.doubles.factories import enqueue_one, make_job_type, make_org
from tests.gateway.console.signed import signed_cookie

T = TypeVar("T")
CLOSED = "insert into gates (scope, key, reason, actor) values ('queue', 'default', 'a test', 'ada')"


@pytest.fixture
def reads(settings: Settings) -> Iterator[ConsoleReads]:
    made = ConsoleReads(settings)
    yield made
    made.stop()


@pytest.fixture
def session_id(store: Database, database: Connection) -> UUID:
    signed_cookie(store, OperatorRole.ADMIN)
    found = database.execute("select id from operator_sessions").fetchone()
    assert found is not None
    return UUID(str(found[0]))


async def changed(viewer: Viewer) -> None:
    async with asyncio.timeout(30):
        await viewer.changed.wait()
    viewer.changed.clear()


def test_it_sleeps_without_viewers_and_shows_the_newest_to_each(
    reads: ConsoleReads, database: Connection, session_id: UUID
) -> None:
    async def play() -> None:
        pulse, first, second = Pulse(reads, beat_s=0.01), Viewer(session_id), Viewer(session_id)
        assert not pulse.is_awake
        with pulse.watch(first):
            assert pulse.is_awake
            await changed(first)
            assert "<b>0</b> closed gates" in first.waiting["attention"]
            with pulse.watch(second):
                await changed(second)
                assert second.waiting == first.waiting
                database.execute(CLOSED)
                await changed(first)
                await changed(second)
                assert "<b>1</b> closed gates" in first.waiting["attention"]
                assert second.waiting == first.waiting
        assert not pulse.is_awake

    asyncio.run(play())


def test_a_change_of_a_job_is_shown_to_whom_it_may_be_shown(
    reads: ConsoleReads, store: Database, database: Connection, session_id: UUID, org: UUID
) -> None:
    make_job_type(store)
    job_id = enqueue_one(store, org)

    async def play() -> None:
        pulse = Pulse(reads, beat_s=0.01)
        of_org, of_other = (
            Viewer(session_id, frozenset({one}), job_id) for one in (org, make_org(database, "the others"))
        )
        with pulse.watch(of_org), pulse.watch(of_other):
            await changed(of_org)
            first = of_org.waiting.pop("changed")
            database.execute("update jobs set priority = 1 where id = %s", (job_id,))
            await changed(of_org)
            assert of_org.waiting.pop("changed") != first
            database.execute("delete from operator_sessions")
            await changed(of_other)
            assert (of_other.is_over, of_other.waiting) == (True, {}), "neither numbers of the fleet nor the job"

    asyncio.run(play())


class Faulty(ConsoleReads):
    async def look_up(self, work: Callable[[], T]) -> T:  # noqa: ARG002 - as the other takes it
        raise LookupError("a fault of ours")


def test_the_streams_of_a_broken_pulse_end_so_that_browsers_come_again(settings: Settings, session_id: UUID) -> None:
    sent: list[Message] = []

    async def stay() -> Message:
        await asyncio.Event().wait()
        return {}

    async def keep(message: Message) -> None:
        sent.append(message)

    async def play() -> None:
        faulty = Faulty(settings)
        pulse = Pulse(faulty)
        for _ in range(2):  # the second begins a pulse of its own
            async with asyncio.timeout(30):
                await PulseStream(pulse, uuid4(), Viewer(session_id))({}, stay, keep)
            assert sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}
            assert b"over" not in b"".join(one.get("body", b"") for one in sent)
            assert not pulse.is_awake
        faulty.stop()

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

"""Of all relays one leads: until it gives up, is silent for the length of its lease, or its backend is gone."""

from collections.abc import Iterator
from contextlib import ExitStack
from uuid import uuid4

import pytest
from psycopg import Connection

from storage.jobs.leadership import Leadership
from storage.postgres.database import Database
from tests.waiting import eventually


@pytest.fixture
def two(store: Database) -> Iterator[tuple[Leadership, Leadership]]:
    with ExitStack() as opened:
        first, second = (Leadership(opened.enter_context(store.session()), uuid4()) for _ in range(2))
        yield first, second


def test_one_leads_and_goes_on_leading(two: tuple[Leadership, Leadership]) -> None:
    first, second = two
    assert [first.take(), second.take(), first.take(), second.take()] == [True, False, True, False]


def test_who_gives_up_is_followed_at_once(two: tuple[Leadership, Leadership]) -> None:
    first, second = two
    assert first.take()
    first.give_up()
    assert second.take()
    assert not first.take()
    first.give_up()  # of what it has no more
    assert second.take()


def test_a_silent_leader_is_deposed_when_its_lease_ends(
    two: tuple[Leadership, Leadership], database: Connection
) -> None:
    first, second = two
    assert first.take()
    ends = (
        "select leads_until between clock_timestamp() and clock_timestamp() + interval '10 seconds' from relay_leader"
    )
    assert database.execute(ends).fetchone() == (True,)
    database.execute("update relay_leader set leads_until = clock_timestamp()")
    assert second.take()
    assert not first.take()


def test_a_leader_whose_backend_is_gone_is_followed_at_once(
    two: tuple[Leadership, Leadership], database: Connection
) -> None:
    first, second = two
    assert first.take()
    database.execute("select pg_terminate_backend(%s, 5000)", (first.session.info.backend_pid,))
    eventually(second.take, within=5, describe="the leadership of the second")


def test_a_backend_that_got_the_number_of_the_leaders_is_not_the_leader(
    two: tuple[Leadership, Leadership], database: Connection
) -> None:
    first, second = two
    assert first.take()
    database.execute("update relay_leader set backend_start = backend_start - interval '1 day'")
    assert second.take()


def test_who_only_looks_writes_nothing(two: tuple[Leadership, Leadership], database: Connection) -> None:
    first, second = two
    assert first.take()
    row = "select xmin, xmax, ctid, leads_until from relay_leader"
    before = database.execute(row).fetchone()
    assert not second.take()
    assert database.execute(row).fetchone() == before

"""Whom a migrator names: the session that has stayed in its way, and never one that only passed."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from psycopg import connect

from storage.postgres.migration_session import ONE_AT_A_TIME
from storage.postgres.other_sessions import HOLDER, LOOKS, Blocker, OtherSession, find_blocker, find_holder
from tests.waiting import until_a_lock_is_waited_for

SESSIONS = st.builds(
    OtherSession,
    pid=st.integers(1, 2),
    login=st.just("postroom_ledger"),
    application=st.just("worker"),
    state=st.just("active"),
    seconds=st.just(0),
    relation=st.just("jobs"),
    transaction=st.sampled_from(["3/7", "3/8"]),
)


def looked(*found: OtherSession | None) -> Blocker:
    blocker = Blocker()
    for one in found:
        blocker.note(one)
    return blocker


def a_session(transaction: str = "3/7") -> OtherSession:
    return OtherSession(4711, "postroom_ledger", "worker", "active", 0, "jobs", transaction)


@given(st.lists(st.none() | SESSIONS, max_size=4 * LOOKS))
def test_who_is_named_was_in_the_way_at_the_last_looks_that_found_anyone(looks: list[OtherSession | None]) -> None:
    found = looks[:]
    while found and found[-1] is None:
        found.pop()
    last = found[-LOOKS:]
    stayed = len(last) == LOOKS and all(
        one and other and (one.pid, one.transaction) == (other.pid, other.transaction) for one, other in pairwise(last)
    )
    assert looked(*looks).session == (last[-1] if stayed else None)


def test_a_pooled_session_that_is_seen_between_empty_looks_is_not_named() -> None:
    assert looked(*[a_session(), None, None] * (2 * LOOKS)).session is None


def test_a_pooled_session_that_is_seen_in_one_transaction_after_another_is_not_named() -> None:
    assert looked(*(a_session(f"3/{number}") for number in range(2 * LOOKS))).session is None


def test_a_session_that_stays_is_named_until_the_next_try() -> None:
    blocker = looked(*[a_session()] * LOOKS, None)
    assert blocker.session == a_session()
    blocker.forget()
    assert blocker.session is None


def test_a_transaction_is_told_from_the_next_of_its_session(empty_database_url: str) -> None:
    """Also by an owner that is no superuser, to whom PostgreSQL does not show when another's transaction began."""
    with (
        ThreadPoolExecutor(1) as aside,
        connect(empty_database_url, autocommit=True) as looking,
        connect(empty_database_url) as waiting,
        connect(empty_database_url, application_name="a pooled one") as pooled,
    ):
        looking.execute("create table mail ()")
        assert find_blocker(looking, waiting.info.backend_pid) is None
        transactions = list[str | None]()
        for _ in range(2):
            pooled.execute("lock table mail")
            done = aside.submit(waiting.execute, "lock table mail")
            until_a_lock_is_waited_for(looking, describe="the other to wait")
            found = find_blocker(looking, waiting.info.backend_pid)
            assert found is not None
            assert (found.pid, found.application, found.relation) == (pooled.info.backend_pid, "a pooled one", "mail")
            transactions.append(found.transaction)
            pooled.rollback()
            done.result(timeout=60)
            waiting.rollback()
    assert None not in transactions
    assert len(set(transactions)) == 2


def test_who_waits_for_the_lock_does_not_hold_it(empty_database_url: str) -> None:
    take = "select pg_advisory_xact_lock(%s)"
    with (
        ThreadPoolExecutor(1) as aside,
        connect(empty_database_url, autocommit=True) as looking,
        connect(empty_database_url) as waiting,
        connect(empty_database_url) as holding,
    ):
        holding.execute(take, (ONE_AT_A_TIME,))
        done = aside.submit(waiting.execute, take, (ONE_AT_A_TIME,))
        until_a_lock_is_waited_for(looking, describe="the other to wait")
        assert [row[0] for row in looking.execute(HOLDER, (ONE_AT_A_TIME,))] == [holding.info.backend_pid]
        holding.rollback()
        done.result(timeout=60)


def test_the_lock_of_another_database_is_not_ours(empty_database_url: str, database_url: str) -> None:
    with connect(database_url) as other, connect(empty_database_url, autocommit=True) as looking:
        other.execute("select pg_advisory_xact_lock(%s)", (ONE_AT_A_TIME,))
        assert find_holder(looking, ONE_AT_A_TIME) is None

"""The mechanism on real servers with a handful of jobs: what is restored, drained and filled; nothing is timed."""

from collections.abc import Iterator

import psycopg
import pytest
from redis import Redis

from bench.arena import Arena, Sizes
from bench.contender import Setting
from bench.contests import fleet_contests, growth_contests
from bench.contests.memory_contests import weigh
from bench.drain import Heat, drain
from bench.ours import ONE, PREFORK, TEMPLATE
from bench.peer_environments import Environments
from bench.stores import PLAY, Stores
from sandbox.servers.servers import Servers, run_servers
from tests.invariants import check_ledger

JOBS = 40


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with run_servers(tmp_path_factory.mktemp("bench"), durable=False) as started:
        yield started


@pytest.fixture(scope="module")
def arena(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Arena:
    sizes = Sizes(finished_rows=(30, 60), scheduled_rows=50, accounts=250, rounds=1)
    return Arena(tmp_path_factory.mktemp("runs"), Stores(servers), Environments({}, {}, {}), sizes)


def look(arena: Arena, database: str = PLAY) -> "psycopg.Connection[tuple[object, ...]]":
    return psycopg.connect(arena.stores.database_url(database), autocommit=True)


@pytest.mark.parametrize(("setting", "job"), [(PREFORK, "noop"), (ONE, "light_noop")], ids=["prefork", "threads"])
def test_our_workers_drain_what_our_door_enqueued(arena: Arena, setting: Setting, job: str) -> None:
    drained = drain(Heat(arena.ours, setting, job, JOBS, box_s=60.0), arena.folder)
    assert drained.whole
    with look(arena) as database:
        check_ledger(database)
        assert database.execute("select count(*) from jobs where state = 'succeeded'").fetchone() == (JOBS,)


def test_every_process_of_a_worker_is_weighed(arena: Arena) -> None:
    weighed = weigh(arena, arena.ours, PREFORK, "noop", JOBS)
    told = weighed.told()
    assert set(told) == {"at the gun", "after a tenth", "half-way", "at the end"}
    for sizes in told.values():
        assert len(sizes) == 3
        assert all(size["rss"] >= size["pss"] > 0 for size in sizes)


def test_a_worker_that_dies_is_told_with_its_log(arena: Arena) -> None:
    dying = Setting("dying", (("-c", "raise SystemExit('a bad day')"),), ready=1)
    with pytest.raises(RuntimeError, match="a bad day"):
        drain(Heat(arena.ours, dying, "noop", 1, box_s=60.0), arena.folder)


def test_one_by_one_and_many_end_in_the_same_ledger(arena: Arena) -> None:
    arena.ours.restore("noop", 0)
    assert arena.ours.fill("noop", 3) > 0
    assert arena.ours.fill_singly("noop", 2) > 0
    with look(arena) as database:
        check_ledger(database, open_jobs=5)
    assert not arena.ours.settled()


def test_a_database_is_filled_with_rows_as_the_frame_writes_them(arena: Arena) -> None:
    growth_contests.fill(arena, "filled", finished=120, scheduled=50)
    with look(arena, "filled") as database:
        check_ledger(database, open_jobs=50)
        scans = "select count(*) from pg_constraint where pg_get_constraintdef(oid) like '%carries_secret%'"
        with look(arena, TEMPLATE) as template:
            assert database.execute(scans).fetchone() == template.execute(scans).fetchone()
        states = database.execute("select state, count(*) from jobs group by state order by state").fetchall()
        assert states == [("queued", 50), ("succeeded", 120)]


def test_growth_is_a_contest_for_each_size(arena: Arena) -> None:
    contests = list(growth_contests.hold(arena))
    assert [contest.name for contest in contests] == ["growth_60_finished", "growth_50_scheduled"]
    assert not arena.skipped


def test_the_fan_out_reaches_every_account(arena: Arena) -> None:
    (contest,) = fleet_contests.fan_out(arena)
    assert contest.facts["accounts"] == 250
    assert not arena.skipped
    with look(arena) as database:
        reached = "select count(distinct payload ->> 'account_id') from jobs where job_type = 'gmail.sync'"
        assert database.execute(reached).fetchone() == (250,)


def test_a_backlog_is_copied_and_survives_its_copy(servers: Servers, arena: Arena) -> None:
    kept = arena.stores.backlog_url("a")
    with Redis.from_url(kept) as backlog, Redis.from_url(servers.valkey.url(1)) as playground:
        backlog.rpush("list", *range(5))
        backlog.hset("hash", "a", "b")
        playground.set("left over", 1)
        for _ in range(2):
            arena.stores.restore_backlog("a")
            assert playground.lrange("list", 0, -1) == [b"0", b"1", b"2", b"3", b"4"]
            assert set(playground.keys()) == {b"list", b"hash"}
            playground.lpop("list")
        assert backlog.llen("list") == 5
        assert arena.stores.has_backlog("a")

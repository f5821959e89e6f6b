"""Restoring, filling and draining on real servers with a handful of jobs; nothing is timed."""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from redis import Redis

from bench.contenders.contender import Setting
from bench.contenders.ours import MAIL, ONE, PREFORK, TEMPLATE, WRITING_MAIL
from bench.contenders.peer import Peer
from bench.contenders.peer_environments import Environments
from bench.contenders.peer_settings import WRITING_CELERY
from bench.contests import fleet, growth, workflows
from bench.contests.memory import measure
from bench.drain import DrainRun, drain
from bench.measured_job import MAIL_JOBS, MESSAGES
from bench.setup import Setup, Sizes
from bench.stores import RUN_DATABASE, Stores
from domain.workflows.definition import definition_of
from engine.app import app
from sandbox.servers.servers import Servers, run_servers
from tests.invariants import check_ledger

JOBS = 40
WRITTEN = [("classify", 16, 16), ("draft", 4, 4), ("ingest", 16, 16)]
"""The rows of sixteen messages, by step: how many, and of how many messages."""


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with run_servers(tmp_path_factory.mktemp("bench"), durable=False) as started:
        yield started


@pytest.fixture(scope="module")
def setup(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Setup:
    sizes = Sizes(finished_rows=(30, 60), scheduled_rows=50, accounts=250, rounds=1)
    return Setup(tmp_path_factory.mktemp("runs"), Stores(servers), Environments({}, {}, {}), sizes)


def look(setup: Setup, database: str = RUN_DATABASE) -> "psycopg.Connection[tuple[object, ...]]":
    return psycopg.connect(setup.stores.database_url(database), autocommit=True)


@pytest.mark.parametrize(("setting", "job"), [(PREFORK, "noop"), (ONE, "noop")], ids=["prefork", "threads"])
def test_our_workers_drain_what_we_enqueued(setup: Setup, setting: Setting, job: str) -> None:
    drained = drain(DrainRun(setup.ours, setting, job, JOBS, time_limit_s=60.0), setup.folder)
    assert drained.whole
    with look(setup) as database:
        check_ledger(database)
        assert database.execute("select count(*) from jobs where state = 'succeeded'").fetchone() == (JOBS,)


ROWS = "select step, count(*), count(distinct (account_id, message)) from message_rows group by step order by step"


@pytest.mark.parametrize(("mix", "rows"), [(MAIL, []), (WRITING_MAIL, WRITTEN)])
def test_a_mail_mix_runs_every_message_s_jobs(setup: Setup, mix: str, rows: list[tuple[str, int, int]]) -> None:
    run = DrainRun(setup.ours, ONE, mix, 36, time_limit_s=60.0, backlog_share=MESSAGES / MAIL_JOBS)
    assert drain(run, setup.folder).whole
    with look(setup) as database:
        check_ledger(database)
        assert database.execute(ROWS).fetchall() == rows
        counted = database.execute(
            "select job_type, count(*) from jobs where state = 'succeeded' group by 1 order by 1"
        )
        assert counted.fetchall() == [("mail_jobs.classify", 16), ("mail_jobs.draft", 4), ("mail_jobs.ingest", 16)]


def test_plain_celery_s_tasks_of_the_second_mix_write_the_same_rows(setup: Setup) -> None:
    peer = Peer(WRITING_CELERY, Path(sys.executable), setup.stores)
    setting = WRITING_CELERY.drain[0]
    run = DrainRun(peer, setting, WRITING_MAIL, 36, time_limit_s=60.0, backlog_share=MESSAGES / MAIL_JOBS)
    assert drain(run, setup.folder).whole
    with look(setup) as database:
        assert database.execute(ROWS).fetchall() == WRITTEN


def test_a_workflow_of_the_bench_runs_all_its_jobs_and_so_do_its_plain_jobs(setup: Setup) -> None:
    runs = workflows.Runs(setup, workflows.fan_out(12), ONE, [])
    assert runs.seconds() > 0
    assert runs.advances[0] >= 1
    with look(setup) as database:
        check_ledger(database)
        items = "select count(*) from jobs where job_type = 'noop_jobs.numbered' and state = 'succeeded'"
        assert database.execute(items).fetchone() == (12,)
    assert runs.plain_seconds() > 0


def test_the_layers_and_the_chain_of_the_bench_have_the_nodes_that_they_promise() -> None:
    layers = definition_of(workflows.layers(3).document)
    assert Counter(len(node.needs) for node in layers.nodes.values()) == {0: 50, 3: 100}
    chain = definition_of(workflows.chain(5).document)
    assert list(chain.edges) == [(f"n{n}", f"n{n + 1}") for n in range(4)]


def test_every_process_of_a_worker_is_measured(setup: Setup) -> None:
    use = measure(setup, setup.ours, PREFORK, "noop", JOBS)
    facts = use.as_facts()
    assert set(facts) == {"at the start", "after a tenth", "half-way", "at the end"}
    for sizes in facts.values():
        assert len(sizes) == 3
        assert all(size["rss"] >= size["pss"] > 0 for size in sizes)


def test_a_worker_that_dies_is_reported_with_its_log(setup: Setup) -> None:
    dying = Setting("dying", (("-c", "raise SystemExit('a bad day')"),), ready=1)
    with pytest.raises(RuntimeError, match="a bad day"):
        drain(DrainRun(setup.ours, dying, "noop", 1, time_limit_s=60.0), setup.folder)


def test_one_by_one_and_many_end_in_the_same_ledger(setup: Setup) -> None:
    setup.ours.restore("noop", 0)
    assert setup.ours.fill("noop", 3) > 0
    assert setup.ours.fill_singly("noop", 2) > 0
    with look(setup) as database:
        check_ledger(database, open_jobs=5)
    assert not setup.ours.settled()


def test_a_database_is_filled_with_rows_as_the_frame_writes_them(setup: Setup) -> None:
    growth.fill(setup, "filled", finished=120, scheduled=50)
    with look(setup, "filled") as database:
        check_ledger(database, open_jobs=50)
        scans = "select count(*) from pg_constraint where pg_get_constraintdef(oid) like '%carries_secret%'"
        with look(setup, TEMPLATE) as template:
            assert database.execute(scans).fetchone() == template.execute(scans).fetchone()
        states = database.execute("select state, count(*) from jobs group by state order by state").fetchall()
        assert states == [("queued", 50), ("succeeded", 120)]


def test_growth_is_a_contest_for_each_size(setup: Setup) -> None:
    contests = list(growth.run_contests(setup))
    assert [contest.name for contest in contests] == ["growth_60_finished", "growth_50_scheduled"]
    assert not setup.skipped


def test_the_fan_out_reaches_every_account(setup: Setup) -> None:
    app.set_current()  # as in the bench's process; another app of the test process may have been current
    (contest,) = fleet.fan_out(setup)
    assert contest.facts["accounts"] == 250
    assert not setup.skipped
    with look(setup) as database:
        reached = "select count(distinct payload ->> 'account_id') from jobs where job_type = 'gmail.sync'"
        assert database.execute(reached).fetchone() == (250,)


def test_a_backlog_is_copied_and_survives_its_copy(servers: Servers, setup: Setup) -> None:
    kept = setup.stores.backlog_url("a")
    with Redis.from_url(kept) as backlog, Redis.from_url(servers.valkey.url(1)) as run_broker:
        backlog.rpush("list", *range(5))
        backlog.hset("hash", "a", "b")
        run_broker.set("left over", 1)
        for _ in range(2):
            setup.stores.restore_backlog("a")
            assert run_broker.lrange("list", 0, -1) == [b"0", b"1", b"2", b"3", b"4"]
            assert set(run_broker.keys()) == {b"list", b"hash"}
            run_broker.lpop("list")
        assert backlog.llen("list") == 5
        assert setup.stores.has_backlog("a")

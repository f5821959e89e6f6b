"""The pipeline contest on real servers with a handful of messages, and how it counts what a message costs."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from bench.contenders.ours import ONE
from bench.contenders.peer_environments import Environments
from bench.contenders.peer_settings import PIPELINE_CELERY
from bench.contest import Contest
from bench.contests import pipeline
from bench.contests.pipeline import Done, costs, run_once
from bench.pipeline.contenders import OurPipeline, PeerPipeline, Work, check_same_work
from bench.pipeline.mailboxes import MAILBOXES, Mailboxes, running_mailboxes
from bench.pipeline.usage import Cost, Memory, Usage, cpu_seconds
from bench.setup import Setup, Sizes
from bench.stores import Stores
from engine.app import app
from sandbox.demo.mailbox_story import read_story
from tests.house.reading import ROOT
from tests.invariants import check_ledger

MESSAGES = 6
EACH_STEP_TWICE = """
from bench.peers import mail_steps
for box_id, message_id in mail_steps.messages():
    for _ in range(2):
        mail_steps.ingest(box_id, message_id)
        thread_id = mail_steps.classify(box_id, message_id)
        if thread_id:
            mail_steps.draft(box_id, thread_id)
"""
WORK = Work(stored=12, classified=12, drafted=6, waiting=0)


@pytest.fixture(scope="module")
def mailboxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mailboxes]:
    with running_mailboxes(tmp_path_factory.mktemp("emulators")) as running:
        yield running


@pytest.fixture(scope="module")
def setup(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Setup:
    return Setup(tmp_path_factory.mktemp("runs"), stores, Environments({}, {}, {}), Sizes(messages=MESSAGES, rounds=1))


def test_both_store_classify_and_draft_the_same_mail_by_the_same_calls(setup: Setup, mailboxes: Mailboxes) -> None:
    app.set_current()  # as in the bench's process; another app of the test process may have been current
    kind = replace(PIPELINE_CELERY, drain=PIPELINE_CELERY.drain[:1])
    ours = OurPipeline(setup.ours, setup.stores, mailboxes, (ONE,))
    mine = run_once(setup, mailboxes, ours, ONE)
    with psycopg.connect(setup.stores.database_url(), autocommit=True) as database:
        check_ledger(database)
    plain = PeerPipeline(kind, Path(sys.executable), setup.stores, mailboxes, setup.folder)
    theirs = run_once(setup, mailboxes, plain, kind.drain[0])
    check_same_work({"ours": (mine.work, mine.calls), "theirs": (theirs.work, theirs.calls)})
    assert (mine.work.stored, mine.work.classified, mine.work.waiting) == (2 * MESSAGES, 2 * MESSAGES, 0)
    assert mine.calls["messages.get"] == 2 * MESSAGES
    assert mine.calls["drafts.create"] == mine.work.drafted > 0
    for done in (mine, theirs):
        # The system counts CPU in hundredths of a second; so few messages may take plain Celery's PostgreSQL none.
        used = done.cost.as_facts() | {"postgres_cpu_ms": mine.cost.usage.postgres_cpu_s}
        assert all(figure > 0 for figure in used.values()), used


def test_a_peer_s_step_that_is_repeated_writes_nothing_twice(setup: Setup, mailboxes: Mailboxes) -> None:
    boxes, arrived = mailboxes.refill(MESSAGES)
    plain = PeerPipeline(PIPELINE_CELERY, Path(sys.executable), setup.stores, mailboxes, setup.folder)
    plain.connect(boxes)
    plain.ready(arrived)
    environment = {**os.environ, **plain.environment()}
    subprocess.run([sys.executable, "-c", EACH_STEP_TWICE], env=environment, cwd=ROOT, check=True, timeout=60)  # noqa: S603  # our own program
    with psycopg.connect(setup.stores.database_url(), autocommit=True) as database:
        row = database.execute(plain.work_query.encode()).fetchone()
    drafted = mailboxes.calls()["drafts.create"]
    assert row == (MESSAGES, MESSAGES, drafted, 0)
    assert drafted > 0


def test_every_mailbox_gets_every_message_of_the_demo() -> None:
    stories = len(read_story())
    whole = {(number % MAILBOXES, number % stories) for number in range(MAILBOXES * stories)}
    assert len(whole) == MAILBOXES * stories


@pytest.mark.parametrize(
    ("work", "messages", "is_over"),
    [
        (Work(stored=0, classified=0, drafted=0, waiting=0), 1, False),
        (Work(stored=1, classified=0, drafted=0, waiting=1), 1, False),
        (Work(stored=1, classified=1, drafted=0, waiting=0), 2, False),
        (Work(stored=2, classified=2, drafted=1, waiting=0), 2, True),
    ],
)
def test_a_run_is_over_when_all_is_stored_and_nothing_waits(work: Work, messages: int, is_over: bool) -> None:
    assert work.is_over(messages) is is_over


@pytest.mark.parametrize(
    ("work", "calls"), [(replace(WORK, drafted=5), {"drafts.create": 6}), (WORK, {"drafts.create": 7})]
)
def test_work_that_differs_ends_the_contest(work: Work, calls: dict[str, int]) -> None:
    one = (WORK, {"drafts.create": 6})
    check_same_work({"one": one, "same": one})
    with pytest.raises(RuntimeError, match="did not do the same work"):
        check_same_work({"one": one, "other": (work, calls)})


def done(rate: float, worker_s: float, postgres_s: float) -> Done:
    usage = Usage(worker_s, postgres_s, wal_bytes=4_000, table_bytes={"jobs": 800, "audit": 3_200, "orgs": 0})
    return Done(rate, Cost(usage, messages=4, transactions=3.5, memory=Memory(80.0, 60.0)), WORK, {"drafts.create": 6})


def test_the_ratio_of_cpu_is_of_workers_and_postgresql_together() -> None:
    facts = costs([done(1.0, 0.1, 0.06), done(1.0, 0.1, 0.1), done(1.0, 9.0, 9.0)], [done(2.0, 0.09, 0.01)])
    assert facts["cpu_ratio"] == 2.0
    assert facts["peer_cost"] == {
        "worker_cpu_ms": 22.5,
        "postgres_cpu_ms": 2.5,
        "transactions": 3.5,
        "wal_bytes": 1000,
        "kept_bytes": 1000,
        "rss_mib": 80.0,
        "pss_mib": 60.0,
    }
    assert facts["ours_kept_bytes"] == {"audit": 800, "jobs": 200}
    result = Contest("a", (1.0,), (2.0,), targets=pipeline.TARGETS, facts=facts).result()
    assert result["targets"] == [vars(target) | {"met": False} for target in pipeline.TARGETS]


def test_the_cpu_of_a_process_that_has_ended_counts_with_its_parent() -> None:
    before = cpu_seconds([os.getpid()])
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", burn], check=True, timeout=60)  # noqa: S603  # our own program
    assert cpu_seconds([os.getpid()]) - before >= 0.28, "the system counts in hundredths of a second"

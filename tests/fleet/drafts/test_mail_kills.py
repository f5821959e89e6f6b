"""Workers that are killed one after another while they write drafts: each message is decided and answered once.

`POSTROOM_KILL_RUNS=5` runs it five times, each time with other moments.
"""

import logging
import os
import random
import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from http import HTTPStatus
from pathlib import Path

import pytest

from sandbox.servers.waiting import wait_until
from tests.cluster.nodes import WorkerCommand, WorkerNode, run_worker
from tests.doubles.mail_environment import MailEnvironment
from tests.fleet.fleet import QUICK, QUIET_OPTIONS, environment_of
from tests.invariants import check_ledger
from tests.waiting import eventually

LOG = logging.getLogger(__name__)
KILLS, MESSAGES = 10, 50
RUNS = int(os.environ.get("POSTROOM_KILL_RUNS", "1"))
WITHIN_S = 60.0
DECIDED = "select count(*), count(distinct gmail_message_id) from decisions"
PATIENT = {"POSTROOM_LEASE_S": "4", "POSTROOM_PROVIDER_CALL_LIMIT_S": "2.5"}
"""A call that the emulator takes up after its limit is one that nobody waits for any more: on a crowded machine it may
answer late.
"""


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("run", range(RUNS))
def test_ten_kills_cost_no_message_and_write_nothing_twice(
    env: MailEnvironment, stack: ExitStack, tmp_path: Path, run: int
) -> None:
    """Five messages come before each kill; a call to Gmail or to the model, which comes in, is its moment."""
    chance = random.Random(run)  # noqa: S311 - moments, not secrets
    environment = environment_of(env.process.settings) | QUICK | PATIENT

    def start(number: int) -> WorkerNode:
        command = WorkerCommand(("critical", "default", "deadletter"), name=f"w{number}", options=QUIET_OPTIONS)
        node = run_worker(command, environment, tmp_path)
        stack.callback(node.teardown)
        return node

    workers = {f"w{number}": start(number) for number in range(KILLS + 1)}
    for worker in workers.values():
        worker.ready()
    threads: list[str] = []
    began = time.monotonic()
    for kill in range(KILLS):
        threads += [deliver(env, f"{kill}-{number}") for number in range(MESSAGES // KILLS)]
        outside, call = chance.choice(
            [(env.gmail, "messages.get"), (env.gmail, "drafts.create"), (env.model, "messages.create")]
        )
        count = len(outside.journal(call)) + chance.randint(1, 4)
        env.enqueue("gmail.sync")
        outside.wait_for(call, count=count, timeout_s=WITHIN_S)
        workers.pop(busy(env, workers)).kill_all()
    LOG.info("run %d: %d kills in %.0f s", run, KILLS, time.monotonic() - began)
    env.enqueue("gmail.sync")
    eventually(lambda: drafted(env) == MESSAGES, within=4 * WITHIN_S, describe=f"{MESSAGES} drafts")
    wait_for_the_ends(env)
    assert Counter(draft["thread_id"] for draft in env.mailbox.state().drafts) == dict.fromkeys(threads, 1)
    # What the mailbox's quota refuses makes none.
    called = [call for call in env.gmail.journal("drafts.create") if call.status != HTTPStatus.FORBIDDEN]
    made = Counter(call.summary["thread_id"] for call in called)
    assert {thread: count for thread, count in made.items() if count > 1} == {}
    assert env.database.execute(DECIDED).fetchall() == [(MESSAGES, MESSAGES)]
    assert env.count("select count(*) from jobs where state in ('dead', 'failed')") == 0
    assert env.count("select count(*) from dead_letters") == 0
    check_ledger(env.database)


def deliver(env: MailEnvironment, name: str) -> str:
    """Let somebody ask something; returns the thread."""
    text = "Could you tell me whether you can make it at noon? Please reply."
    return env.deliver(f"Lunch {name}?", text).thread_id


def busy(env: MailEnvironment, workers: Collection[str]) -> str:
    """The name of a worker that holds a job, of these; any where none does."""
    held = "select split_part(w.hostname, '@', 1) from workers w join jobs j on j.worker_id = w.id"
    holders = {name for (name,) in env.database.execute(held)}
    return min(workers, key=lambda name: (name not in holders, name))


def drafted(env: MailEnvironment) -> int:
    return env.count("select count(*) from emails where state = 'drafted'")


def wait_for_the_ends(env: MailEnvironment) -> None:
    """Wait until no job is open; says which are, where they stay so."""
    rows = "select job_type, state, attempt, losses, run_at - now(), error from jobs where finished_at is null"

    def open_jobs() -> list[tuple[object, ...]]:
        return env.database.execute(rows).fetchall()

    try:
        wait_until(lambda: not open_jobs(), within=WITHIN_S, describe="all jobs to end")
    except TimeoutError as late:
        pytest.fail(f"{late}: {open_jobs()}")

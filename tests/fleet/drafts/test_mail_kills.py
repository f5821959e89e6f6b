"""Workers that are killed one after another while they write drafts: each message is decided and answered once.

`POSTROOM_KILL_RUNS=5` runs it five times, each time with other moments.
"""

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cluster.nodes import WorkerCommand, WorkerNode, run_worker
from tests.doubles.mail_environment import MailEnvironment
from tests.fleet.fleet import QUICK, QUIET_OPTIONS, environment_of
from tests.invariants import check_ledger
from tests.waiting import eventually

KILLS, MESSAGES = 10, 50
RUNS = int(os.environ.get("POSTROOM_KILL_RUNS", "1"))
WITHIN_S = 60.0
DECIDED = "select count(*), count(distinct gmail_message_id) from decisions"


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("run", range(RUNS))
def test_ten_kills_cost_no_message_and_write_nothing_twice(
    env: MailEnvironment,
    stack: ExitStack,
    tmp_path: Path,
    run: int,
    record_testsuite_property: Callable[[str, object], None],
) -> None:
    """Five messages come before each kill; a call to Gmail or to the model, which comes in, is its moment."""
    chance = random.Random(run)  # noqa: S311 - moments, not secrets
    environment = environment_of(env.process.settings) | QUICK | {"POSTROOM_PROVIDER_CALL_LIMIT_S": "1.5"}

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
    record_testsuite_property(f"kills_took_s_{run}", round(time.monotonic() - began))
    env.enqueue("gmail.sync")
    eventually(lambda: drafted(env) == MESSAGES, within=4 * WITHIN_S, describe=f"{MESSAGES} drafts")
    eventually(lambda: no_job_is_open(env), within=WITHIN_S, describe="all jobs to end")
    assert Counter(draft["thread_id"] for draft in env.mailbox.state().drafts) == dict.fromkeys(threads, 1)
    assert len(env.gmail.journal("drafts.create")) == MESSAGES
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


def no_job_is_open(env: MailEnvironment) -> bool:
    return env.count("select count(*) from jobs where finished_at is null") == 0

"""Real workers and a limited account: its jobs wait without a slot, while a worker of one slot does another's work."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from redis import Redis

from sandbox.emulator.control import MessagePlace
from tests.cluster.nodes import WorkerCommand, WorkerNode, run_worker
from tests.doubles.factories import pass_time
from tests.doubles.mail_environment import MailEnvironment, connect
from tests.fleet.fleet import END_WITHIN_S, QUICK, environment_of
from tests.invariants import check_ledger
from tests.waiting import eventually

LIMIT = 45
"""Two messages' worth of Gmail's units, and a little."""
INBOX = 8


@pytest.fixture
def worker(env: MailEnvironment, tmp_path: Path) -> Iterator[WorkerNode]:
    """A worker of one slot, which may spend little per account."""
    rates = {"POSTROOM_RATE_LIMITS": f'{{"gmail.user": {LIMIT}}}'}
    environment = QUICK | environment_of(env.process.settings) | rates
    node = run_worker(WorkerCommand(("default",), concurrency=1, name="single"), environment, tmp_path)
    node.ready()
    yield node
    node.teardown()


def ingest(env: MailEnvironment, account_id: UUID, place: MessagePlace) -> UUID:
    return env.enqueue(
        "gmail.ingest",
        {"account_id": str(account_id), "message_id": place.message_id, "thread_id": place.thread_id},
    )


def states(env: MailEnvironment, jobs: list[UUID]) -> list[str]:
    rows = env.database.execute("select state from jobs where id = any (%s)", (jobs,)).fetchall()
    return sorted(row[0] for row in rows)


def test_a_limited_accounts_jobs_hold_no_slot_while_they_wait(env: MailEnvironment, worker: WorkerNode) -> None:
    assert worker
    neighbour = env.gmail.create_account("neighbour@postroom.example", "access-n", "refresh-n")
    other = connect(env.process, "neighbour@postroom.example", "access-n", "refresh-n").account_id
    places = [env.deliver(f"Letter {number}", "Hello.", label_ids=["SENT"]) for number in range(INBOX)]
    waiting = [ingest(env, env.account.account_id, place) for place in places]
    served = states_after_limit(env, waiting)
    assert served == ["queued"] * (INBOX - 2) + ["succeeded"] * 2
    theirs = [neighbour.deliver(b"Subject: Letter\r\n\r\nHello.", label_ids=["SENT"]) for _ in range(2)]
    passing = [ingest(env, other, place) for place in theirs]
    eventually(lambda: states(env, passing) == ["succeeded"] * 2, within=END_WITHIN_S, describe="the neighbour's jobs")
    assert states(env, waiting) == served
    assert len(env.gmail.journal("messages.get")) == 4
    query = "select distinct attempt from jobs where id = any (%s) and state = 'queued'"
    assert env.database.execute(query, (waiting,)).fetchall() == [(0,)]
    let_time_pass(env)
    eventually(lambda: states(env, waiting).count("succeeded") >= 4, within=END_WITHIN_S, describe="two more")
    states_after_limit(env, waiting)
    check_ledger(env.database, open_jobs=env.count("select count(*) from jobs where finished_at is null"))


def states_after_limit(env: MailEnvironment, jobs: list[UUID]) -> list[str]:
    """How the jobs stand when two have been served, the account's gate is closed, and the others wait behind it."""
    gate = "select count(*) from gates where scope = 'account' and key = %s and until > now()"
    eventually(
        lambda: env.count(gate, str(env.account.account_id)) and not running(env, jobs),
        within=END_WITHIN_S,
        describe="the account's gate to close",
    )
    return states(env, jobs)


def running(env: MailEnvironment, jobs: list[UUID]) -> bool:
    return bool({"claimed", "running"} & set(states(env, jobs)))


def let_time_pass(env: MailEnvironment) -> None:
    """A quarter of an hour in a moment: for the windows in which calls are counted, and then for the ledger.

    In the other order a job that the open gate lets through would meet the old window, and close the gate again.
    """
    with Redis.from_url(env.process.settings.broker_url.get_secret_value()) as client:
        windows = list(client.scan_iter("postroom:limits:*"))
        assert windows
        client.delete(*windows)
    pass_time(env.database, timedelta(minutes=15))

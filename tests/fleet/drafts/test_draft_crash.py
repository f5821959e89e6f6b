"""A worker dies after Gmail made the draft and before it was recorded: one draft, and the job succeeds (P3)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.mail.correspondence import EmailState
from sandbox.emulator.control import FaultOrder
from tests.cluster.nodes import WorkerCommand, WorkerNode, run_worker
from tests.doubles.mail_environment import MailEnvironment
from tests.fleet.fleet import environment_of
from tests.waiting import eventually

POOLS = ("threads", "prefork")


@pytest.fixture
def environment(env: MailEnvironment) -> dict[str, str]:
    """The test's servers and emulators, and a fleet that notices a death within seconds."""
    return environment_of(env.process.settings) | {
        "POSTROOM_LEASE_S": "8",
        "POSTROOM_PROVIDER_CALL_LIMIT_S": "5",
        "POSTROOM_HINT_TIMEOUT_S": "3",
    }


@pytest.fixture(params=POOLS)
def worker(request: pytest.FixtureRequest, environment: dict[str, str], tmp_path: Path) -> Iterator[WorkerNode]:
    command = WorkerCommand(queues=("critical", "default"), pool=request.param, name="first")
    node = run_worker(command, environment, tmp_path)
    node.ready()
    yield node
    node.teardown()


def test_a_worker_killed_between_an_effect_and_its_record_leaves_one_draft(
    env: MailEnvironment, worker: WorkerNode, environment: dict[str, str], tmp_path: Path
) -> None:
    env.gmail.order(FaultOrder(operation="drafts.create", hang_s=120, times=1))
    place = env.deliver("Lunch on Friday?", "Could you tell me whether you can make it at noon? Please reply.")
    env.enqueue("gmail.sync")
    env.gmail.wait_for("drafts.create", count=1, timeout_s=60)
    worker.kill()
    second = run_worker(WorkerCommand(queues=("critical", "default"), name="second"), environment, tmp_path)
    try:
        second.ready()
        eventually(lambda: drafted(env, place.thread_id), within=60, describe="the draft to be recorded")
        eventually(lambda: not open_jobs(env), within=30, describe="all jobs to end")
    finally:
        second.teardown()
    assert len(env.gmail.journal("drafts.create")) == 1
    assert len(env.mailbox.state().drafts) == 1
    losses = env.database.execute("select state, attempt, losses from jobs where job_type = 'drafts.write'").fetchall()
    assert losses == [("succeeded", 1, 0)], "other jobs may have ended the worker: no attempt is spent"
    statuses = env.database.execute(
        "select status from idempotency_keys where kind = 'effect' and key like 'draft:%'"
    ).fetchall()
    assert statuses == [("succeeded",)]


def drafted(env: MailEnvironment, thread_id: str) -> bool:
    return env.count("select count(*) from emails where gmail_thread_id = %s and state = 'drafted'", thread_id) == 1


def open_jobs(env: MailEnvironment) -> int:
    return env.count("select count(*) from jobs where finished_at is null")


def test_the_sandbox_can_tell_two_drafts_from_one(env: MailEnvironment) -> None:
    """The journal that the test above trusts does count: without a kill there is one call, and the state agrees."""
    place = env.deliver("Lunch on Friday?", "Could you tell me whether you can make it at noon? Please reply.")
    env.sync()
    assert env.state(place.thread_id) is EmailState.DRAFTED
    assert len(env.gmail.journal("drafts.create")) == 1

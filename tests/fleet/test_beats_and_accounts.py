"""Two beats with the production schedule, real accounts and a worker: one sync per account and tick.

The intervals of the two syncs are the installation's own.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sandbox.servers.child_process import ChildProcess, Command
from tests.cluster.nodes import WorkerCommand, run_worker
from tests.doubles.mail_environment import MailEnvironment, connect
from tests.fleet.fleet import environment_of
from tests.house.reading import ROOT
from tests.servers.python_processes import spawn_python
from tests.waiting import eventually

MORE_ACCOUNTS = ("second@postroom.example", "third@postroom.example")
EVERY_S = {"fallback_sync": 600, "full_sync": 7_200}
TICKS = "select count(distinct idempotency_key) from jobs where job_type = %s and actor_id = 'beat'"
OTHER_TICKS = "select count(*) from jobs where job_type = %s and idempotency_key not like %s"
SYNCS = (
    "select payload ->> 'account_id', count(*) from jobs"
    " where job_type = 'gmail.sync' and payload ->> 'reason' = %s group by 1"
)


@pytest.fixture
def environment(env: MailEnvironment) -> dict[str, str]:
    """The test's servers and emulators, with three mailboxes connected."""
    for number, email in enumerate(MORE_ACCOUNTS, start=2):
        env.gmail.create_account(email, f"access-{number}", f"refresh-{number}")
        connect(env.process, email, f"access-{number}", f"refresh-{number}")
    intervals = {f"POSTROOM_{job_type.upper()}_S": str(every) for job_type, every in EVERY_S.items()}
    return environment_of(env.process.settings) | intervals


@pytest.fixture
def beats(environment: dict[str, str], tmp_path: Path) -> Iterator[list[ChildProcess]]:
    """Two `celery -A tasks beat`; every entry is due when they start, and then not for minutes."""
    command = [sys.executable, "-m", "celery", "-A", "tasks", "beat", "--pidfile=", "--loglevel=INFO"]
    with ExitStack() as stack:
        given = Command(command, environment=environment, folder=ROOT)
        both = [ChildProcess(given, log=tmp_path / f"beat-{number}.log", spawn=spawn_python) for number in (1, 2)]
        for beat in both:
            beat.start()
            stack.callback(beat.stop)
        yield both


def test_two_beats_make_one_sync_per_account_and_tick(
    env: MailEnvironment, environment: dict[str, str], beats: list[ChildProcess], tmp_path: Path
) -> None:
    entries = 7
    eventually(
        lambda: all(beat.read_log().count('"event": "tick"') >= entries for beat in beats),
        within=60,
        describe="both beats to have ticked every entry",
    )
    worker = run_worker(WorkerCommand(queues=("maintenance", "default"), concurrency=4), environment, tmp_path)
    try:
        worker.ready()
        open_jobs = "select count(*) from jobs where finished_at is null and job_type in ('gmail.sync', %s)"
        for job_type in ("maintenance.fallback_sync", "maintenance.full_sync"):
            eventually(lambda kind=job_type: not env.count(open_jobs, kind), within=60, describe=job_type)  # type: ignore[misc] # the default binds the type of this turn
    finally:
        worker.teardown()
    logs = "".join(beat.read_log() for beat in beats)
    assert logs.count('"created": false') >= entries
    for job_type, reason in (("maintenance.fallback_sync", "fallback"), ("maintenance.full_sync", "full")):
        ticks = env.count(TICKS, job_type)
        syncs = env.database.execute(SYNCS, (reason,)).fetchall()
        # One window, or two if the clock passed its end just now.
        assert ticks in {1, 2}
        every_s = EVERY_S[job_type.removeprefix("maintenance.")]
        assert env.count(OTHER_TICKS, job_type, f"tick:{job_type}:{every_s}:%") == 0
        assert len(syncs) == 1 + len(MORE_ACCOUNTS)
        assert all(1 <= count <= ticks for _, count in syncs)

"""Two beats make one tick per window, and outlive their database's absence."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from sandbox.servers.child_process import ChildProcess, Command
from sandbox.servers.postgres_server import PostgresServer
from tests.fleet.fleet import END_WITHIN_S, Fleet
from tests.house.reading import ROOT
from tests.servers.python_processes import spawn_python
from tests.waiting import eventually

TICKS = "select count(*), count(distinct idempotency_key) from jobs where idempotency_key like 'tick:%%'"


@pytest.fixture
def beats(fleet_with_own_postgres: Fleet) -> Iterator[list[ChildProcess]]:
    """Two `celery beat` with a tick each second."""
    fleet = fleet_with_own_postgres
    command = [sys.executable, "-m", "celery", "-A", "tests.fleet.ticking_app", "beat", "--pidfile=", "--loglevel=INFO"]
    with ExitStack() as stack:
        both = []
        for number in (1, 2):
            log = fleet.outside.folder / f"beat-{number}.log"
            beat = ChildProcess(
                Command(command, environment=fleet.environment, folder=ROOT), log=log, spawn=spawn_python
            )
            beat.start()
            stack.callback(beat.stop)
            both.append(beat)
        yield both


def wait_for_logs(beats: list[ChildProcess], what: str, *, times: int = 1) -> None:
    """Wait until each beat has logged it so often."""
    eventually(
        lambda: all(beat.read_log().count(what) >= times for beat in beats),
        within=END_WITHIN_S,
        describe=f"{what} x {times} from each beat",
    )


def test_two_beats_make_one_tick_per_window(fleet_with_own_postgres: Fleet, beats: list[ChildProcess]) -> None:
    fleet = fleet_with_own_postgres
    wait_for_logs(beats, '"event": "tick"', times=4)
    for beat in beats:
        beat.stop()
    jobs, windows = fleet.ask(TICKS)[0]
    logs = "".join(beat.read_log() for beat in beats)
    assert jobs == windows == logs.count('"created": true')
    # Each beat ticked in most windows; of two ticks for one window the second made no job.
    assert logs.count('"created": false') >= 2
    spans = "select extract(epoch from max(created_at) - min(created_at)) from jobs"
    assert jobs <= float(fleet.ask(spans)[0][0]) + 2
    assert fleet.ask("select distinct org_id::text, actor_id from jobs") == [
        ("00000000-0000-7000-8000-000000000000", "beat")
    ]


def test_beats_outlive_an_absence_of_postgres(
    fleet_with_own_postgres: Fleet, beats: list[ChildProcess], own_postgres: PostgresServer
) -> None:
    fleet = fleet_with_own_postgres
    wait_for_logs(beats, '"event": "tick"')
    own_postgres.stop()
    wait_for_logs(beats, "tick_not_enqueued")
    own_postgres.start()
    before = fleet.ask(TICKS)[0][0]
    eventually(lambda: fleet.ask(TICKS)[0][0] >= before + 2, within=END_WITHIN_S, describe="two more ticks")
    assert all(beat.running for beat in beats)
    jobs, windows = fleet.ask(TICKS)[0]
    assert jobs == windows

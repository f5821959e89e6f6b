"""Two beats make one tick per window, and outlive their database's absence."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from sandbox.child_process import ChildProcess, Command
from sandbox.postgres_server import PostgresServer
from tests.fleet.fleet import PATIENT_S, Fleet
from tests.house import ROOT
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
            beat = ChildProcess(Command(command, environment=fleet.environment, folder=ROOT), log=log)
            beat.start()
            stack.callback(beat.stop)
            both.append(beat)
        yield both


def test_two_beats_make_one_tick_per_window(fleet_with_own_postgres: Fleet, beats: list[ChildProcess]) -> None:
    fleet = fleet_with_own_postgres
    for beat in beats:
        eventually(lambda beat=beat: beat.read_log().count('"event": "tick"') >= 4, within=PATIENT_S, describe="4 ticks")  # type: ignore[misc] # mypy does not infer a lambda with a default
    for beat in beats:
        beat.stop()
    jobs, windows = fleet.ask(TICKS)[0]
    logs = "".join(beat.read_log() for beat in beats)
    assert jobs == windows == logs.count('"created": true')
    # Each beat ticked in most windows; of two ticks for one window the second made no job.
    assert logs.count('"created": false') >= 2
    expected = "select max(extract(epoch from created_at)::bigint) - min(extract(epoch from created_at)::bigint) + 1 from jobs"
    assert jobs <= fleet.ask(expected)[0][0] + 1
    assert fleet.ask("select distinct org_id::text, actor_id from jobs") == [
        ("00000000-0000-7000-8000-000000000000", "beat")
    ]


def test_beats_outlive_an_absence_of_postgres(
    fleet_with_own_postgres: Fleet, beats: list[ChildProcess], own_postgres: PostgresServer
) -> None:
    fleet = fleet_with_own_postgres
    for beat in beats:
        eventually(lambda beat=beat: '"event": "tick"' in beat.read_log(), within=PATIENT_S, describe="a first tick")  # type: ignore[misc] # as above
    own_postgres.stop()
    for beat in beats:
        eventually(
            lambda beat=beat: "tick_not_enqueued" in beat.read_log(),  # type: ignore[misc] # as above
            within=PATIENT_S,
            describe="a failed tick",
        )
    own_postgres.start()
    before = fleet.ask(TICKS)[0][0]
    eventually(lambda: fleet.ask(TICKS)[0][0] >= before + 2, within=PATIENT_S, describe="two more ticks")
    assert all(beat.running for beat in beats)
    jobs, windows = fleet.ask(TICKS)[0]
    assert jobs == windows

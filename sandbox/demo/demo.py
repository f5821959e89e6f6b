"""`make demo`: a mailbox of real mail on the whole fleet, from the first sync to an attack that achieves nothing."""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psycopg

from sandbox.demo.day.run import DayRun
from sandbox.demo.doors import DoorRefused
from sandbox.demo.endings import Busy, Stopped, alone_in, forget_settings, stopped_by_signals
from sandbox.demo.fleet import CommandRefused, Fleet
from sandbox.demo.processes import ROOT, Died
from sandbox.demo.report import find_deviations, find_outcomes, find_problems, make_report
from sandbox.demo.screen import Screen, relative
from sandbox.demo.show import DemoRun
from sandbox.demo.watching import Late
from sandbox.emulator.control import ControlRefused

FOLDER = ROOT / "build" / "demo"
WITHIN_S = 400.0
"""Against hanging only: on two cores with ten other busy processes setting up alone has taken two minutes."""
DAY_WITHIN_S = 900.0
"""A day has three times as much mail, and waits for refused calls and lost answers."""
MOST_PROBLEMS = 20
EXPECTED_ERRORS = (
    Busy, CommandRefused, ControlRefused, Died, DoorRefused, Late, LookupError, OSError, RuntimeError, TimeoutError,
    psycopg.Error, subprocess.TimeoutExpired,
)  # fmt: skip
"""Errors of the environment, reported in a line without a traceback."""


def main() -> int:
    """Run the demo; the exit status is 0 only when every step and message ended as predicted, exactly once."""
    options = _options()
    forget_settings()
    screen = Screen()
    try:
        with stopped_by_signals(), alone_in(options.folder):
            kind = DayRun if options.day else DemoRun
            within_s = options.within or (DAY_WITHIN_S if options.day else WITHIN_S)
            return show(options.folder, screen, kind, within_s=within_s)
    except Stopped as stopped:
        screen.complain(f"stopped by {stopped}; everything is cleaned up")
        return stopped.exit_status
    except EXPECTED_ERRORS as error:
        screen.complain(f"{type(error).__name__}: {error}")
        screen.tell(f"Logs: {relative(options.folder / 'logs')}")
        return 1


def show(folder: Path, screen: Screen, kind: type[DemoRun | DayRun], *, within_s: float) -> int:
    """Start the local stack, play the scenario, count, and print the result."""
    deadline = time.monotonic() + within_s
    with Fleet(folder, screen.tell) as fleet, psycopg.connect(fleet.addresses.database, autocommit=True) as connection:
        run = kind(fleet, screen, connection, deadline=deadline)
        late = None
        try:
            run.run()
        except Late as error:
            late = str(error)
        ledger, outside = run.evidence()
        steps, endings = run.outcomes((ledger, outside))
        report = make_report(ledger, outside) | find_outcomes(steps, endings) | {"seconds": round(screen.seconds(), 1)}
        problems = [late] if late else []
        problems += find_problems(report, ledger) + find_deviations(steps, endings)
        _write(folder / "report.json", report | {"problems": problems})
        screen.show_messages(ledger, endings)
    screen.show_steps(steps)
    screen.show_sums(report, [("report", relative(folder / "report.json")), ("logs", relative(folder / "logs"))])
    for problem in problems[:MOST_PROBLEMS]:
        screen.complain(problem)
    screen.tell("Everything is stopped" + ("; the demo FAILED" if problems else ""))
    return 1 if problems else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run the whole fleet on a mailbox of real mail, start to end.")
    parser.add_argument(
        "--folder", type=Path, default=FOLDER, help="where databases, logs and report go; emptied first"
    )
    parser.add_argument("--day", action="store_true", help="play a day of three people instead of the story of one")
    parser.add_argument("--within", type=float, help="seconds that the scenario may take")
    return parser.parse_args()


def _write(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())

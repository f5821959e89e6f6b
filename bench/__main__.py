"""`make bench`: measure ours and its peers in turns, and write figures and ratios."""

import argparse
import fnmatch
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from shutil import rmtree

from rich.console import Console
from rich.table import Table

from bench import chart, results_file
from bench.contenders.peer_environments import build
from bench.contest import FAILURES, describe_failure
from bench.contests import (
    drain,
    enqueue,
    fleet,
    growth,
    io_bound,
    latency,
    memory,
    mix,
    pipeline,
    polls,
    workflows,
)
from bench.machine import describe, here_and_now
from bench.results_file import Results
from bench.setup import ContestGroup, Setup, Sizes, open_setup
from observability import logs
from sandbox.demo.endings import Busy, Stopped, alone_in, stopped_by_signals

FOLDER = Path("build/bench").absolute()
GROUPS = (
    pipeline.GROUP,
    mix.GROUP,
    enqueue.GROUP,
    latency.GROUP,
    workflows.GROUP,
    drain.GROUP,
    io_bound.GROUP,
    memory.GROUP,
    *fleet.GROUPS,
    growth.GROUP,
    polls.GROUP,
)
SCREEN = Console(width=None if sys.stdout.isatty() else 180)
"""A file takes lines of any length, so tables are not wrapped at 80 columns."""


def main(words: Sequence[str] | None = None, folder: Path = FOLDER) -> int:
    """Build the peers, start servers that sync to disk, run the contests, and write `build/bench/results.json`.

    A run of some contests replaces their results in that file and keeps the others.
    """
    asked, sizes = read_command_line(words, folder)
    try:
        with stopped_by_signals(), alone_in(folder):
            measure(asked, sizes, folder)
    except Stopped as stopped:
        return stopped.exit_status
    except Busy as reason:
        SCREEN.print(str(reason))
        return 1
    return 0


def measure(asked: argparse.Namespace, sizes: Sizes, folder: Path) -> None:
    """One run, alone in its folder."""
    logs.configure("ERROR")
    folder.mkdir(parents=True, exist_ok=True)
    for left in ("servers", "run"):
        rmtree(folder / left, ignore_errors=True)
    peers: set[str] | None = set() if asked.without_peers else None
    environments = build(folder / "peers", peers)
    with open_setup(folder, environments, sizes, asked.only, print_line) as setup:
        setup.skipped |= environments.skipped
        results = run_all(setup, GROUPS, whole=not asked.only and not asked.without_peers)
    show(results, setup)


def read_command_line(words: Sequence[str] | None = None, folder: Path = FOLDER) -> tuple[argparse.Namespace, Sizes]:
    """Parse the command line; exits with a message that lists all contests when one is unknown."""
    parser = options()
    asked = parser.parse_args(words)
    sizes = replace(Sizes(), **{field.name: getattr(asked, field.name) for field in fields(Sizes)})
    known = results_file.known_names(GROUPS, sizes)
    for pattern in asked.only:
        if not fnmatch.filter(known, pattern):
            parser.error(f"--only: there is no contest {pattern!r}; there are: {' '.join(known)}")
    try:
        results_file.read(folder)
    except ValueError as error:
        parser.error(str(error))
    return asked, sizes


def options() -> argparse.ArgumentParser:
    """The command line; the published figures are measured with the default sizes."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=main.__doc__)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="contests by name or pattern")
    parser.add_argument("--without-peers", action="store_true", help="ours only")
    for field in fields(Sizes):
        flag, default = f"--{field.name.replace('_', '-')}", getattr(Sizes(), field.name)
        if isinstance(default, tuple):
            parser.add_argument(flag, type=int, nargs="+", default=default)
        else:
            parser.add_argument(flag, type=type(default), default=default, help=f"default {default}")
    return parser


def print_line(line: str) -> None:
    """Print a line with the time."""
    SCREEN.print(f"{datetime.now(UTC):%H:%M:%S} {line}", highlight=False, markup=False)


def run_all(setup: Setup, groups: Sequence[ContestGroup], *, whole: bool) -> Results:
    """Run every contest that was asked for; a group that fails is reported, and the others go on.

    Each result is written at once, so that a run that is stopped keeps what it measured. A contest that does not run
    keeps its earlier result, unless the run is `whole`: then only results of this run are left at the end.
    """
    earlier = results_file.read(setup.folder)
    results: Results = {}
    for group in groups:
        wanted = group.wanted(setup)
        if not wanted:
            continue
        began, reason = time.monotonic(), "one side did not run"
        try:
            for contest in group.run(setup):
                measured = here_and_now() | {"rounds": setup.sizes.rounds}
                results[contest.name] = contest.result() | {"measured": measured}
                write(earlier | results, setup, groups)
        except FAILURES as error:
            reason = describe_failure(error)
            setup.print_line(f"{group.title}: {reason}")
        setup.skipped |= {name: f"not run: {reason}" for name in wanted if name not in results}
        setup.minutes[group.title] = round((time.monotonic() - began) / 60, 1)
    write(results if whole else earlier | results, setup, groups)
    return results


def write(results: Results, setup: Setup, groups: Sequence[ContestGroup]) -> None:
    """Write results, machine and chart."""
    results_file.write(setup.folder, results, results_file.known_names(groups, setup.sizes))
    machine = describe(setup)
    (setup.folder / "machine.json").write_text(json.dumps(machine, indent=2) + "\n")
    if results:
        chart.write(results, machine, setup.folder / "bench.svg")


def show(results: Results, setup: Setup) -> None:
    """The results of this run as a table."""
    table = Table("contest", "ours", "peer", "unit", "ratio", "of the rounds", "target")
    for name, result in results.items():
        figures = [str(result[key]) for key in ("ours", "peer", "unit", "ratio")]
        table.add_row(name, *figures, f"{result['min']}-{result['max']}", chart.describe_targets(result))
    SCREEN.print(table)
    for what, why in setup.skipped.items():
        SCREEN.print(f"left out: {what}: {why}")


if __name__ == "__main__":
    sys.exit(main())

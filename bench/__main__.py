"""`make bench`: ours beside its peers in one run, in turns; writes ratios and figures, never promises."""

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
from bench.arena import Arena, Sizes, Stage, open_arena
from bench.contest import FAILURES, told_by
from bench.contests import (
    drain_contests,
    enqueue_contests,
    fleet_contests,
    growth_contests,
    latency_contests,
    memory_contests,
    waiting_contests,
)
from bench.machine import describe, here_and_now
from bench.peer_environments import build
from bench.results_file import Results
from observability import logs

FOLDER = Path("build/bench").absolute()
STAGES = (
    drain_contests.STAGE,
    enqueue_contests.STAGE,
    latency_contests.STAGE,
    waiting_contests.STAGE,
    memory_contests.STAGE,
    *fleet_contests.STAGES,
    growth_contests.STAGE,
)
SCREEN = Console(width=None if sys.stdout.isatty() else 180)
"""A file has room for a whole line."""


def main() -> None:
    """Build the peers, start servers that sync to disk, hold the contests, and write `build/bench/results.json`.

    Some contests replace their own results there; those of earlier runs stay beside them.
    """
    asked, sizes = read_command_line()
    logs.configure("ERROR")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for left in ("servers", "course"):
        rmtree(FOLDER / left, ignore_errors=True)
    peers: set[str] | None = set() if asked.without_peers else None
    environments = build(FOLDER / "peers", peers)
    with open_arena(FOLDER, environments, sizes, asked.only, tell) as arena:
        arena.skipped |= environments.skipped
        results = hold_all(arena, STAGES, whole=not asked.only and not asked.without_peers)
    show(results, arena)


def read_command_line(words: Sequence[str] | None = None) -> tuple[argparse.Namespace, Sizes]:
    """What was asked for; ends the program with a message when it asks for a contest that there is not."""
    parser = options()
    asked = parser.parse_args(words)
    sizes = replace(Sizes(), **{field.name: getattr(asked, field.name) for field in fields(Sizes)})
    known = results_file.known_names(STAGES, sizes)
    for pattern in asked.only:
        if not fnmatch.filter(known, pattern):
            parser.error(f"--only: there is no contest {pattern!r}; there are: {' '.join(known)}")
    try:
        results_file.read(FOLDER)
    except ValueError as error:
        parser.error(str(error))
    return asked, sizes


def options() -> argparse.ArgumentParser:
    """The command line; a size's default is what published figures are measured with."""
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


def tell(line: str) -> None:
    """Say how it goes."""
    SCREEN.print(f"{datetime.now(UTC):%H:%M:%S} {line}", highlight=False, markup=False)


def hold_all(arena: Arena, stages: Sequence[Stage], *, whole: bool) -> Results:
    """Every contest that was asked for; a stage that fails is told, and the others go on.

    Each is written as it is held, so that a run that is stopped has not measured in vain. What it does not hold keeps
    the result of an earlier run, unless the run is `whole`: then nothing else is left in the end.
    """
    earlier = results_file.read(arena.folder)
    results: Results = {}
    for stage in stages:
        wanted = stage.wanted(arena)
        if not wanted:
            continue
        began, reason = time.monotonic(), "one side did not run"
        try:
            for contest in stage.hold(arena):
                measured = here_and_now() | {"rounds": arena.sizes.rounds}
                results[contest.name] = contest.result() | {"measured": measured}
                write(earlier | results, arena, stages)
        except FAILURES as error:
            reason = told_by(error)
            arena.tell(f"{stage.title}: {reason}")
        arena.skipped |= {name: f"not held: {reason}" for name in wanted if name not in results}
        arena.minutes[stage.title] = round((time.monotonic() - began) / 60, 1)
    write(results if whole else earlier | results, arena, stages)
    return results


def write(results: Results, arena: Arena, stages: Sequence[Stage]) -> None:
    """Write results, machine and chart."""
    results_file.write(arena.folder, results, results_file.known_names(stages, arena.sizes))
    machine = describe(arena)
    (arena.folder / "machine.json").write_text(json.dumps(machine, indent=2) + "\n")
    if results:
        chart.write(results, machine, arena.folder / "bench.svg")


def show(results: Results, arena: Arena) -> None:
    """The results of this run as a table."""
    table = Table("contest", "ours", "peer", "unit", "ratio", "of the rounds", "target")
    for name, result in results.items():
        figures = [str(result[key]) for key in ("ours", "peer", "unit", "ratio")]
        table.add_row(name, *figures, f"{result['min']}-{result['max']}", chart.verdict(result))
    SCREEN.print(table)
    for what, why in arena.skipped.items():
        SCREEN.print(f"left out: {what}: {why}")


if __name__ == "__main__":
    main()

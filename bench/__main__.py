"""`make bench`: ours beside its peers in one run, in turns; writes ratios and figures, never promises."""

import argparse
import json
import sys
import time
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from shutil import rmtree

from rich.console import Console
from rich.table import Table

from bench import (
    chart,
    drain_contests,
    enqueue_contests,
    fleet_contests,
    growth_contests,
    latency_contests,
    memory_contests,
    waiting_contests,
)
from bench.arena import Arena, Sizes, open_arena
from bench.contest import FAILURES, told_by
from bench.machine import describe
from bench.peer_environments import build
from providers import logs

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
    """Build the peers, start servers that sync to disk, hold the contests, and write `build/bench/results.json`."""
    asked = options().parse_args()
    sizes = replace(Sizes(), **{field.name: getattr(asked, field.name) for field in fields(Sizes)})
    logs.configure("ERROR")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for left in ("servers", "course"):
        rmtree(FOLDER / left, ignore_errors=True)
    peers: set[str] | None = set() if asked.without_peers else None
    environments = build(FOLDER / "peers", peers)
    with open_arena(FOLDER, environments, sizes, asked.only, tell) as arena:
        arena.skipped |= environments.skipped
        results = hold_all(arena)
        write(results, arena)
    show(results, arena)


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


def hold_all(arena: Arena) -> dict[str, dict[str, object]]:
    """Every contest that was asked for; a stage that fails is told, and the others go on."""
    results: dict[str, dict[str, object]] = {}
    for stage in STAGES:
        if not stage.wanted(arena):
            continue
        began = time.monotonic()
        try:
            for contest in stage.hold(arena):
                results[contest.name] = contest.result()
                write(results, arena)
        except FAILURES as error:
            arena.skipped[stage.names[0]] = told_by(error)
            arena.tell(f"{stage.names[0]}: {told_by(error)}")
        arena.minutes[stage.names[0]] = round((time.monotonic() - began) / 60, 1)
    return results


def write(results: dict[str, dict[str, object]], arena: Arena) -> None:
    """Write what there is so far, so that a run that is stopped has not measured in vain."""
    (FOLDER / "results.json").write_text(json.dumps(results, indent=2) + "\n")
    machine = describe(arena)
    (FOLDER / "machine.json").write_text(json.dumps(machine, indent=2) + "\n")
    if results:
        chart.write(results, machine, FOLDER / "bench.svg")


def show(results: dict[str, dict[str, object]], arena: Arena) -> None:
    """The results as a table."""
    table = Table("contest", "ours", "peer", "unit", "ratio", "of the rounds", "target")
    for name, result in results.items():
        figures = [str(result[key]) for key in ("ours", "peer", "unit", "ratio")]
        table.add_row(name, *figures, f"{result['min']}-{result['max']}", chart.verdict(result))
    SCREEN.print(table)
    for what, why in arena.skipped.items():
        SCREEN.print(f"left out: {what}: {why}")


if __name__ == "__main__":
    main()

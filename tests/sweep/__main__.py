"""`make sweep`: sweeps every job type at every boundary and writes `build/sweep/report.json`."""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator

from tests.servers.servers import run_session_servers
from tests.sweep.exploration import DEPTHS, Swept
from tests.sweep.report import FOLDER, write
from tests.sweep.scenarios import swept_types
from tests.sweep.workers import Assignment, sweep_all


def main() -> int:
    """Sweep; 0 when every point was tried and nothing is violated."""
    options = _options()
    names = [name for name in swept_types() if options.only in name]
    with run_session_servers() as servers:
        assignments = [Assignment(name, servers, options.depth) for name in names]
        swept = list(_reported(sweep_all(assignments, options.processes)))
    path = write(options.report, sorted(swept, key=lambda one: one.scenario))
    wrong = [violation for one in swept for violation in one.violations]
    for violation in wrong:
        sys.stderr.write(f"{violation}\n")
    skipped = [f"{one.scenario}: {point}" for one in swept for point in one.skipped]
    for point in skipped:
        sys.stderr.write(f"not tried: {point}\n")
    points = sum(one.points for one in swept)
    figures = f"{len(names)} job types, {points} points, {len(wrong)} violations, {len(skipped)} points not tried"
    sys.stdout.write(f"{figures}: {path}\n")
    for fault, count in sorted(sum((one.faults for one in swept), Counter()).items()):
        sys.stdout.write(f"{count:7} {fault}\n")
    return 1 if wrong or skipped else 0


def _reported(swept: Iterable[Swept]) -> Iterator[Swept]:
    began = time.monotonic()
    for one in swept:
        found = f"{one.points} points, {len(one.violations)} violations"
        sys.stdout.write(f"{time.monotonic() - began:6.0f} s  {one.scenario}: {found}\n")
        sys.stdout.flush()
        yield one


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("tests.sweep", description=__doc__)
    parser.add_argument("--processes", type=int, default=2, help="how many job types at a time")
    parser.add_argument("--only", default="", help="only job types with this in their name")
    parser.add_argument("--depth", choices=list(DEPTHS), default="whole")
    parser.add_argument("--report", default="report", help=f"the name of the report in {FOLDER.name}/")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())

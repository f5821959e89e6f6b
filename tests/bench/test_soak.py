"""The soak's verdict, and a small run of it: what came in, what ended and what is left add up."""

import json
import sys
from pathlib import Path

import pytest

from bench.soak.verdict import Sample, compare, failures, p99, window_s
from sandbox.servers.child_process import ChildProcess, Command
from tests.house.reading import ROOT

SECONDS, RATE = 6.0, 50.0


def samples(last_rows: float = 100.0, other_ms: float = 5.0, last_ms: float = 10.0) -> list[Sample]:
    """Four windows of ten seconds, of which the first fills an empty ledger."""
    rows = {0: 10.0, 1: 100.0, 2: 100.0, 3: last_rows}
    tail = {0: 90.0, 1: 10.0, 2: 10.0, 3: last_ms}
    return [Sample(n, {"jobs.rows": rows[n // 10]}, (1.0, tail[n // 10]), (other_ms,)) for n in range(40)]


def broken(seen: list[Sample], growing: set[str]) -> list[str]:
    return failures(compare(seen, 40), seen, growing)


def test_what_stays_flat_breaks_nothing() -> None:
    assert broken(samples(), set()) == []
    assert broken(samples(last_rows=109.0, other_ms=999.0, last_ms=10.9), set()) == []
    assert broken(samples(last_rows=50.0, last_ms=2.0), set()) == []


@pytest.mark.parametrize(
    ("seen", "word"),
    [
        (samples(last_rows=111.0), "jobs.rows grew from 100 to 111"),
        (samples(last_ms=11.1), "p99_ms grew from 10 to 11.1"),
        (samples(other_ms=1000.0), "another queue began 1000 ms late"),
    ],
)
def test_each_limit_can_be_broken(seen: list[Sample], word: str) -> None:
    (only,) = broken(seen, set())
    assert word in only


def test_what_may_grow_may_grow() -> None:
    assert broken(samples(last_rows=500.0), {"jobs.rows"}) == []


def test_an_almost_empty_table_may_grow_by_pages() -> None:
    pair = {"second": 16384.0, "last": 49152.0, "ratio": 3.0}
    assert failures({"guards.table": pair}, [], set()) == []
    assert failures({"guards.table": {name: 2**20 * figure for name, figure in pair.items()}}, [], set())
    assert failures({"guards.rows": pair}, [], set())


def test_windows_and_percentiles() -> None:
    assert (window_s(1200), window_s(40)) == (300, 10)
    assert [p99(range(1, n + 1)) for n in (1, 100, 200)] == [1, 99, 198]


def test_a_short_soaks_sums_add_up(tmp_path: Path) -> None:
    words = ["--minutes", str(SECONDS / 60), "--rate", str(RATE), "--every", "0.5", "--retention", "2"]
    command = [sys.executable, "-m", "bench.soak", *words, "--folder", str(tmp_path / "soak")]
    run = ChildProcess(Command(command, folder=ROOT), log=tmp_path / "log")
    run.start()
    try:
        status = run.wait(within=240)
    finally:
        run.stop()
    assert status in {0, 1}, run.read_log()
    report = json.loads((tmp_path / "soak" / "report.json").read_text())
    assert (status == 0) is (report["failures"] == [])
    sums = report["sums"]
    assert sums["enqueued"] == sums["succeeded"] == sums["enqueued_by_us"] > 0
    assert sums["left"] <= sums["enqueued"]
    assert sums["unfinished"] == 0
    assert {"jobs.rows", "jobs.table", "jobs.indexes", "p99_ms"} <= report["compared"].keys()
    assert all(figure > 0 for figure in report["each_job"].values()), report["each_job"]
    assert len(report["samples"]) > 4
    last = report["samples"][-1]
    assert last["p99_ms"] > 0
    assert last["wal.bytes"] > report["samples"][0]["wal.bytes"]

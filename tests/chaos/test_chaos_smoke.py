"""A small chaos run: some hundred jobs and one fault of each kind; the full run is `make chaos`."""

import json
import sys
from pathlib import Path

from sandbox.servers.child_process import ChildProcess, Command
from tests.house.reading import ROOT

SECONDS, JOBS, LEASE_S, SEED = 10, 400, 4, 3


def test_a_short_chaos_run_keeps_every_promise(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tests.chaos", "--any-size", "--folder", str(tmp_path / "chaos")]
    words += [
        "--seconds",
        str(SECONDS),
        "--jobs",
        str(JOBS),
        "--lease",
        str(LEASE_S),
        "--seed",
        str(SEED),
        "--workers",
        "2",
    ]
    run = ChildProcess(Command(words, folder=ROOT), log=tmp_path / "log")
    run.start()
    try:
        status = run.wait(within=240)
    finally:
        run.stop()
    assert status == 0, run.read_log()
    report = json.loads((tmp_path / "chaos" / "report.json").read_text())
    assert report["failures"] == report["problems"] == []
    assert report["jobs"] > JOBS * 0.9  # unique jobs fold into one another
    assert (report["kills"], report["wipes"], report["postgres_restarts"]) == (4, 2, 2)
    assert report["effects_per_key"].keys() == {"1"}
    assert report["states"]["succeeded"] > JOBS * 0.9

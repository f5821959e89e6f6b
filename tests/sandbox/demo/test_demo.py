"""The real demo, once, in a process of its own: it ends by itself, and its report is consistent."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from sandbox.demo.letters import LETTERS
from sandbox.demo.processes import ROOT
from sandbox.demo.story import STEPS
from tests.waiting import eventually

WITHIN_S = 300
"""The demo takes about a minute on two idle cores; here other tests run beside it."""
MESSAGES = 60 + len(LETTERS)


def demo_command(folder: Path) -> list[str]:
    return [sys.executable, "-m", "sandbox.demo.demo", "--folder", str(folder), "--within", str(WITHIN_S)]


def of_folder(folder: Path) -> list[psutil.Process]:
    """The processes that name the folder on their command line: the servers, whose data lies there."""
    return [one for one in psutil.process_iter(["cmdline"]) if str(folder) in " ".join(one.info["cmdline"] or [])]


def test_the_demo_ends_by_itself_with_nothing_lost_and_nothing_double(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    (folder / "postgres").mkdir(parents=True)
    (folder / "postgres" / "left_over").write_text("by a former run")
    done = subprocess.run(  # noqa: S603  # our own demo
        demo_command(folder), cwd=ROOT, capture_output=True, text=True, timeout=WITHIN_S + 120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    check_report(json.loads((folder / "report.json").read_text()))
    assert of_folder(folder) == []


def check_report(report: dict[str, Any]) -> None:
    assert (report["lost"], report["duplicates"], report["problems"]) == (0, 0, [])
    assert [one for one in (*report["steps"], *report["endings"]) if not one["holds"]] == []
    assert len(report["steps"]) == len(STEPS)
    assert report["messages"] == len(report["endings"]) == MESSAGES
    assert sum(report["classified"]["by_class"].values()) == MESSAGES
    assert sum(report["classified"]["by_source"].values()) == MESSAGES
    assert set(report["classified"]["by_source"]) == {"deterministic", "llm"}
    assert report["sent"] == 4
    assert report["drafts"] >= 10
    # Two questions in one thread may order the one draft twice.
    drafting = ("drafts.write", "drafts.write_manual", "agents.process")
    assert sum(report["jobs"].get(one, {}).get("succeeded", 0) for one in drafting) >= report["drafts"]
    assert report["jobs"]["gmail.ingest"]["succeeded"] >= 64
    assert set(report["effects"]) == {"succeeded"}
    assert report["audit_events"] > 3 * 60
    assert report["llm_cost_cents"] > 0
    assert set(report["pushes"]) == {"204"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_demo_leaves_no_process_behind(tmp_path: Path, number: signal.Signals) -> None:
    folder = tmp_path / "demo"
    with subprocess.Popen(  # noqa: S603  # our own demo
        demo_command(folder), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as demo:
        eventually((folder / "logs" / "gmail.log").exists, within=60, describe="the demo never began")
        started = psutil.Process(demo.pid).children(recursive=True)
        os.kill(demo.pid, number)
        said, _ = demo.communicate(timeout=90)
    assert demo.returncode == 128 + number
    assert "stopped by" in said
    assert "Traceback" not in said
    assert psutil.wait_procs(started, timeout=10)[1] == []
    assert of_folder(folder) == []

"""Workers of an earlier release: the last tag's code, or before the first tag this code under another name."""

import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from importlib.metadata import distribution
from io import BytesIO
from pathlib import Path

from sandbox.servers.child_process import ChildProcess, Command
from tests.doubles import probe_jobs
from tests.fleet.fleet import QUIET_OPTIONS
from tests.house.reading import ROOT
from tests.waiting import eventually

RELEASE = "0.0.9"
BEFORE = ("git", "describe", "--tags", "--abbrev=0", "HEAD^")
KEPT = ("settings.py", "celeryconfig.py", "beat_schedule.py", "pyproject.toml")
READY_WITHIN_S = 120.0


def unpack(folder: Path, commit: str | None = None) -> Path:
    """A tree of the earlier release in `folder`, whose distribution says so; of a commit where one is named."""
    folder.mkdir()
    commit = commit or _said(*BEFORE).strip()
    if commit:
        with tarfile.open(fileobj=BytesIO(_bytes("git", "archive", commit))) as archive:
            archive.extractall(folder, filter="data")
    else:
        for room in (path for path in ROOT.iterdir() if path.is_dir() and (path / "__init__.py").exists()):
            shutil.copytree(room, folder / room.name)
        shutil.copytree(ROOT / "tests", folder / "tests")
        for name in KEPT:
            shutil.copy(ROOT / name, folder / name)
    facts = folder / f"postroom-{RELEASE}.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: postroom\nVersion: {RELEASE}\n")
    (facts / "entry_points.txt").write_text(distribution("postroom").read_text("entry_points.txt") or "")
    return folder


def start_worker(tree: Path, environment: Mapping[str, str], name: str) -> ChildProcess:
    """A worker of that tree that serves all queues of the probe jobs; returns when it is ready."""
    words = [
        "-m",
        "celery",
        "-A",
        "tasks",
        "worker",
        "--loglevel=INFO",
        "-n",
        f"{name}@earlier",
        "-P",
        "threads",
        "-c",
        "2",
    ]
    words += ["-Q", "default,deadletter", *QUIET_OPTIONS]
    assert probe_jobs.__name__ in words
    worker = ChildProcess(Command([sys.executable, *words], environment, folder=tree), log=tree / f"{name}.log")
    worker.start()
    eventually(
        lambda: "ready." in worker.read_log() or not worker.running,
        within=READY_WITHIN_S,
        describe=f"{name} to be ready or to end",
    )
    assert worker.running, worker.read_log()[-3000:]
    return worker


def _said(*words: str) -> str:
    """Nothing when git finds no tag, or is not here."""
    if shutil.which(words[0]) is None:
        return ""
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False).stdout  # noqa: S603  # constant words


def _bytes(*words: str) -> bytes:
    return subprocess.run(words, cwd=ROOT, capture_output=True, check=True).stdout  # noqa: S603  # constant words and a tag

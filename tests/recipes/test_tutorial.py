"""The tutorial runs as it is written, in a copy of the repository: its files, its commands, and its job in a fleet."""

import json
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from tests.recipes.machine import Machine
from tests.tools.house_copy import make_copy
from tests.waiting import eventually
from tests.written_pages import DOCS, Page

TUTORIAL = Page(DOCS / "tutorial" / "first-job.md")
ENDS_WITHIN_S = 120.0
"""How long a job may take in a fleet that has just started on a busy machine, in seconds."""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A repository of the reader's own, whose Python is the one of this test: `make` would install the same packages.

    The folder `.venv` is the copy's own, for `make` clears it where it finds it too old.
    """
    copy = make_copy(tmp_path)
    python = copy / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    for mark in (".locked", ".installed"):
        (copy / ".venv" / mark).touch()
    return copy


@pytest.fixture
def reader(copy: Path, tmp_path: Path) -> Iterator[Machine]:
    """Who reads the tutorial, and stops the fleet in any case."""
    with ExitStack() as stack:
        given = {
            "PYTHONPATH": str(copy),
            "PYTEST_ADDOPTS": f"--basetemp={tmp_path}/nested",
        }
        exports = "\n".join(f"export {name}={value}" for name, value in given.items())
        machine = Machine(tmp_path, stack, folder=copy, exports=exports)
        stack.callback(machine.run, "make down")
        yield machine


def do(reader: Machine, block: str) -> str:
    """Run a block, and expect it to succeed."""
    status, output = reader.run(block)
    assert status == 0, output
    return output


def test_the_tutorial_leads_to_a_job_that_has_counted(reader: Machine, copy: Path) -> None:
    begin, test, keep, start, enqueue, show, stop = TUTORIAL.code("sh")
    do(reader, begin)
    files = re.findall(r"Change `(\S+)` to", TUTORIAL.text)
    for name, content in zip(files, TUTORIAL.code("python"), strict=True):
        (copy / name).write_text(content)
    assert "1 passed" in do(reader, test)
    do(reader, keep)
    assert (copy / "tests/golden/digests.count_waiting.v1.json").exists()
    listed = do(reader, f"{start.strip()} --json")
    reader.exports += "\n. build/up/environment"
    (account, *_) = json.loads(listed[listed.rindex("\n[") :])
    ids = {"ORG_ID": account["org_id"], "ACCOUNT_ID": account["account_id"]}
    for gap, value in ids.items():
        enqueue = enqueue.replace(gap, value)
    job_id = json.loads(do(reader, f"{enqueue.strip()} --json"))["job_id"]
    shown = eventually(
        lambda: (found := do(reader, show.replace("JOB_ID", job_id))) and "job.succeeded" in found and found,
        within=ENDS_WITHIN_S,
        describe="the job to succeed",
    )
    assert '"waiting"' in str(shown)
    (history,) = TUTORIAL.code("sql")
    with psycopg.connect(do(reader, 'printf %s "$POSTROOM_DATABASE_URL"')) as database:
        database.execute("set role postroom_ledger")
        events = [row[1] for row in database.execute(history.replace("JOB_ID", job_id).encode()).fetchall()]
    assert events == ["job.enqueued", "job.started", "job.succeeded"]
    do(reader, stop)

"""A module that cannot be taken is refused in one line that names it, whatever its import does."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.payloads.own_packages import RefusedModule, load
from domain.payloads.payload import payload_types

MODULE = "stray_orders"
HEAD = f"""
from datetime import timedelta
from domain.jobs.queues import Queue
from domain.payloads.payload import Payload
from engine.catalogue import job
class Confirm(Payload, job_type="{MODULE}.confirm"): ...
"""
BAD_TIMES = {
    "deadline=timedelta.max": f"{MODULE}.confirm: deadline is 999999999 days, 23:59:59.999999; it may be",
    "deadline=timedelta(days=2)": f"{MODULE}.confirm: deadline is 2 days",
    "deadline=60": f"{MODULE}.confirm: deadline must be a timedelta, not int",
    "every=timedelta.max": f"{MODULE}.confirm: every is 999999999 days",
    "every=timedelta(milliseconds=10)": f"{MODULE}.confirm: every is 0:00:00.010000; it may be 0:00:01 to",
    "every='hourly'": f"{MODULE}.confirm: every must be a timedelta, not str",
}
RAISED = {
    "class Wrong(Exception): ...\nraise Wrong('no settings')": "Wrong: no settings",
    "import sys\nsys.exit(0)": "SystemExit: 0",
    "raise StopIteration('early')": "StopIteration: early",
    "raise ExceptionGroup('some', [ValueError('a')])": "ExceptionGroup: some (1 sub-exception)",
    "raise ValueError('one\\ntwo')": "ValueError: one two",
}


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of a module that can be imported; what it declares goes with the test."""
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path / f"{MODULE}.py"
    assert f"{MODULE}.confirm" not in {one.declaration.job_type for one in payload_types}


def refusal(module: Path, text: str) -> str:
    module.write_text(text)
    with pytest.raises(RefusedModule) as refused:
        load(MODULE)
    return str(refused.value)


@pytest.mark.parametrize("given", BAD_TIMES)
def test_a_time_that_cannot_be_is_refused_by_its_name(module: Path, given: str) -> None:
    said = refusal(module, f"{HEAD}\n@job(queue=Queue.DEFAULT, {given})\ndef confirm(ctx, payload: Confirm): ...\n")
    assert BAD_TIMES[given] in said


def test_a_coroutine_function_is_no_handler(module: Path) -> None:
    said = refusal(module, f"{HEAD}\n@job(queue=Queue.DEFAULT)\nasync def confirm(ctx, payload: Confirm): ...\n")
    assert f"{MODULE}.confirm: its handler is a coroutine function" in said


@pytest.mark.parametrize("text", RAISED)
def test_whatever_a_module_raises_is_said_in_one_line(module: Path, text: str) -> None:
    said = refusal(module, text)
    assert said.startswith(f"{MODULE}, which POSTROOM_JOBS names, cannot be imported: {RAISED[text]}")
    assert "\n" not in said
    assert f"({module}, line" in said

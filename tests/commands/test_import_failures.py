"""A mistake in a family's files: the command line names the reason."""

import shutil
from pathlib import Path

import pytest

from tests.house.reading import ROOT
from tests.servers.python_processes import run_python

ROOMS = ("domain", "storage", "providers", "observability", "engine", "tasks", "commands")
FILES = ("settings.py", "celeryconfig.py", "beat_schedule.py")
MISTAKES = {
    "a missing module": ("tasks/mail/threads.py", "import nosuchmodule\n", "No module named 'nosuchmodule'"),
    "a missing module of a payload file": (
        "domain/payloads/threads.py",
        "import nosuchmodule\n",
        "No module named 'nosuchmodule'",
    ),
    "a wrong handler name": (
        "tasks/mail/threads.py",
        "@job(queue=Queue.DEFAULT)\ndef tidy(ctx: JobContext, payload: CleanupPayload) -> Outcome: ...\n",
        "threads.tidy: its payload class CleanupPayload belongs to threads.cleanup",
    ),
    "a missing annotation": (
        "tasks/mail/threads.py",
        "@job(queue=Queue.DEFAULT)\ndef tidy(ctx, payload): ...\n",
        "threads.tidy: the second parameter's annotation must be a payload class",
    ),
    "a duplicate handler": (
        "tasks/mail/threads.py",
        "@job(queue=Queue.DEFAULT)\ndef cleanup(ctx: JobContext, payload: CleanupPayload) -> Outcome: ...\n",
        "threads.cleanup: the name threads.cleanup belongs to the job type threads.cleanup already",
    ),
    "a payload class without a handler": (
        "domain/payloads/threads.py",
        'class TidyPayload(Payload, job_type="threads.tidy"): ...\n',
        "TidyPayload has no handler: no threads.py in tasks/ has a tidy with @job",
    ),
    "a misspelt keyword": (
        "domain/payloads/threads.py",
        'class TidyPayload(Payload, job_type="threads.tidy", uniqe=while_queued()): ...\n',
        "TidyPayload: uniqe is no keyword of a payload class",
    ),
    "a rule that is not called": (
        "domain/payloads/threads.py",
        'class TidyPayload(Payload, job_type="threads.tidy", unique=while_queued): ...\n',
        "threads.tidy: unique must be made by while_queued()",
    ),
}
"""By the mistake: the file it stands in, the lines that make it, and what the command line says."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the command line imports, whose files the tests may change."""
    folder = tmp_path_factory.mktemp("copy")
    for room in ROOMS:
        shutil.copytree(ROOT / room, folder / room, ignore=shutil.ignore_patterns("__pycache__"))
    for file in FILES:
        shutil.copy(ROOT / file, folder / file)
    return folder


def said(copy: Path) -> str:
    """What `celery -A tasks jobs --help` writes in the copy."""
    _, written = run_python("celery", "-A", "tasks", "jobs", "--help", folder=copy)
    return written


def test_without_a_mistake_the_sub_command_answers(copy: Path) -> None:
    assert "Enqueue, look at, cancel and retry jobs." in said(copy)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_command_line_names_the_reason_of_a_failed_import(copy: Path, mistake: str) -> None:
    name, lines, reason = MISTAKES[mistake]
    source = (copy / name).read_text()
    (copy / name).write_text(f"{source}\n\n{lines}")
    try:
        assert reason in said(copy)
    finally:
        (copy / name).write_text(source)

"""The seams of the catalogue: every job type has a test, a golden payload, a page, a queue and a schedule that fit."""

import ast
import json
import re
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from beat_schedule import EVERY
from domain.jobs.queues import Queue
from domain.jobs.retry import POLICIES
from engine.catalogue import Job, catalogue
from tasks import FAMILIES
from tasks import celery as app
from tests.house import ROOT
from tools.reference import FOLDER, fleet

GOLDEN = ROOT / "tests" / "golden"
LONGEST_DEADLINE = timedelta(minutes=30)
"""The upper bound for an attempt (docs: seeds.md#003-ac-03)."""
NOT_A_TEST_OF_A_JOB = {"test_catalogue.py", "test_docs.py", "test_deploy.py"}

JOBS = fleet()
by_name = pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)


def golden_file(job: Job[Any], version: int) -> Path:
    return GOLDEN / f"{job.name}.v{version}.json"


def test_the_families_are_the_files_that_make_job_types() -> None:
    files = {path.stem for path in (ROOT / "tasks").glob("*.py") if makes_job_types(path.read_text())}
    assert set(FAMILIES) == files, (
        "FAMILIES in tasks/__init__.py must name every file of tasks/ that uses @job, and no other"
    )
    assert {job.name.partition(".")[0] for job in JOBS} == files


def makes_job_types(source: str) -> bool:
    """Whether a function of the file is decorated with a call of `job`."""
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    calls = [one.func for function in functions for one in function.decorator_list if isinstance(one, ast.Call)]
    return any(isinstance(called, ast.Name) and called.id == "job" for called in calls)


def test_a_file_of_job_types_is_recognised() -> None:
    assert makes_job_types("@job(queue=Queue.DEFAULT)\ndef sync(ctx, payload): ...")
    assert not makes_job_types("def job(): ...\n@contextmanager\ndef sync(): ...")


@by_name
def test_it_has_a_test_that_names_it(job: Job[Any]) -> None:
    name = re.compile(rf"(?<![\w.]){re.escape(job.name)}(?![\w.])")
    files = [path for path in (ROOT / "tests").rglob("test_*.py") if path.name not in NOT_A_TEST_OF_A_JOB]
    assert any(name.search(path.read_text()) for path in files), f"no test names {job.name}: write one in tests/tasks/"


@by_name
def test_it_has_its_place_in_the_reference(job: Job[Any]) -> None:
    assert f"\n## {job.name}\n" in (FOLDER / "job-types.md").read_text(), "run `make docs`"


@by_name
def test_its_golden_payloads_are_still_read(job: Job[Any]) -> None:
    for version in range(1, job.version + 1):
        path = golden_file(job, version)
        assert path.exists(), how_to_make(job, version)
        job.read(json.loads(path.read_text()), version)


@by_name
def test_its_newest_golden_payload_is_what_is_stored_today(job: Job[Any]) -> None:
    path = golden_file(job, job.version)
    assert path.exists(), how_to_make(job, job.version)
    golden = json.loads(path.read_text())
    assert job.read(golden, job.version).document() == golden, (
        f"the payload of {job.name} is stored otherwise than {path.name} says: jobs of both shapes will be in"
        " the ledger at once, so leave the file, raise the job's version and give an upcast"
    )


def how_to_make(job: Job[Any], version: int) -> str:
    """What the author of a job type has to do for its golden payload."""
    fields = json.dumps(job.payload.model_json_schema().get("properties", {}))
    return (
        f"tests/golden/{job.name}.v{version}.json is missing. Write it by hand: one JSON object with a made-up value"
        f" for every field, as the ledger will store it. The fields are {fields}. Never change it afterwards."
    )


def test_every_golden_payload_belongs_to_a_job_type() -> None:
    expected = {golden_file(job, version).name for job in JOBS for version in range(1, job.version + 1)}
    assert {path.name for path in GOLDEN.iterdir()} == expected


@by_name
def test_its_facts_fit(job: Job[Any]) -> None:
    assert job.handler.__doc__, "a docstring is its line in the reference"
    assert job.payload.__doc__, "a payload says what it names"
    assert job.queue in Queue
    assert POLICIES.get(job.retry.name) is job.retry
    assert timedelta(0) < job.deadline <= LONGEST_DEADLINE
    named = {*((job.unique.fields or ()) if job.unique else ()), *([job.serial_by] if job.serial_by else ())}
    assert named <= set(job.payload.model_fields)
    assert app.tasks[job.name].job_type is job


def test_names_and_aliases_are_unique() -> None:
    counted = Counter(name for job in JOBS for name in (job.name, *job.aliases))
    assert [name for name, times in counted.items() if times > 1] == []
    assert all(name in app.tasks for name in counted)


@pytest.mark.parametrize("name", EVERY)
def test_a_periodic_job_exists_and_needs_no_payload(name: str) -> None:
    job = catalogue.find(name)
    assert job is not None, f"beat_schedule.py names {name}, which is no job type"
    assert job.name == name, "the schedule names job types, not aliases"
    assert job.payload.model_validate({}).document() == {}
    assert EVERY[name] > timedelta(0)

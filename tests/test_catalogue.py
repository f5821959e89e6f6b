"""The catalogue is complete: every job type has a test, a golden payload, a page, a queue and a schedule that fit."""

import ast
import inspect
import json
import re
from datetime import timedelta
from typing import Any

import pytest

from beat_schedule import EVERY
from celeryconfig import INTERVALS
from domain.jobs.monitoring.metrics import ATTEMPTS, SECONDS
from domain.jobs.queues import JobCategory, Queue
from domain.jobs.retry import POLICIES
from domain.payloads import payload_types
from engine.beat import tick_payload
from engine.catalogue import Job, catalogue
from tasks import celery as app
from tests.house.reading import ROOT
from tools.golden import FOLDER as GOLDEN
from tools.golden import golden_file
from tools.reference import FOLDER, fleet

LONGEST_DEADLINE = timedelta(minutes=30)
"""The upper bound for an attempt (docs: seeds.md#003-24)."""
PROMISED = {
    "maintenance.fallback_sync": timedelta(minutes=15),
    "maintenance.full_sync": timedelta(hours=1),
    "maintenance.renew_watches": timedelta(days=1),
    "maintenance.sync_labels": timedelta(hours=1),
}
"""How often, as the source documents ask for it."""
CRITICAL = {"actions.execute", "actions.undo", "drafts.rework", "outbound.send"}
"""What a person waits for; every other follow-up of a write is in `default`."""
NOT_A_TEST_OF_A_JOB = {"test_catalogue.py", "test_docs.py", "test_deploy.py"}

JOBS = fleet()
by_name = pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)


def test_the_files_of_tasks_are_the_families() -> None:
    files = {path.stem: path.read_text() for path in (ROOT / "tasks").glob("*/*.py") if path.stem != "__init__"}
    others = [name for name, source in files.items() if not makes_job_types(source)]
    assert others == [], "a system's folder in tasks/ holds job families; what several share is in a folder inside"
    assert {job.name.partition(".")[0] for job in JOBS} == set(files)


def test_every_payload_class_has_its_handler() -> None:
    """A class without one could be enqueued and never run."""
    declared = {one for one in payload_types if one.__module__.startswith("domain.payloads.")}
    assert {job.payload for job in JOBS} == declared


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
    for version in range(1, job.declared.version + 1):
        path = golden_file(GOLDEN, job.payload, version)
        assert path.exists(), f"{path.name} is missing: run `make golden`, read what it writes, and commit it"
        job.read(json.loads(path.read_text()), version)


@by_name
def test_its_newest_golden_payload_is_what_is_stored_today(job: Job[Any]) -> None:
    path = golden_file(GOLDEN, job.payload)
    golden = json.loads(path.read_text())
    assert job.read(golden, job.declared.version).document() == golden, (
        f"the payload of {job.name} is stored otherwise than {path.name} says: jobs of both shapes will be in"
        " the ledger at once, so leave the file, raise the job's version and give an upcast"
    )


def test_every_golden_payload_belongs_to_a_job_type() -> None:
    versions = [(job.payload, version) for job in JOBS for version in range(1, job.declared.version + 1)]
    expected = {golden_file(GOLDEN, payload, version).name for payload, version in versions}
    assert {path.name for path in GOLDEN.iterdir()} == expected


@by_name
def test_its_facts_fit(job: Job[Any]) -> None:
    assert job.handler.__doc__, "a docstring is its line in the reference"
    assert job.payload.__doc__, "a payload says what it names"
    assert job.queue in Queue
    assert POLICIES.get(job.retry.name) is job.retry
    assert timedelta(0) < job.deadline <= LONGEST_DEADLINE


@by_name
def test_ac_14_celery_knows_it_by_each_of_its_names(job: Job[Any]) -> None:
    assert all(app.tasks[name].job_type is job for name in (job.name, *job.declared.aliases))


@pytest.mark.parametrize("name", EVERY)
def test_ac_23_a_periodic_job_is_in_maintenance_and_needs_no_payload(name: str) -> None:
    assert set(tick_payload(name).document().values()) <= {None}
    found = catalogue.find(name)
    assert found is not None
    assert found.queue == Queue.MAINTENANCE
    assert EVERY[name] > timedelta(0)


def unpaced(source: str) -> list[int]:
    """The lines of a handler on which it repeats something for a number of times, or until something is so."""
    loops = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.For | ast.While)]
    return [
        one.lineno
        for one in loops
        if isinstance(one, ast.While) or (isinstance(one.iter, ast.Call) and ast.unparse(one.iter.func) == "range")
    ]


@pytest.mark.parametrize("name", EVERY)
def test_a_periodic_job_walks_rows_at_the_rate_of_maintenance(name: str) -> None:
    found = catalogue.find(name)
    assert found is not None
    assert unpaced(inspect.getsource(found.handler)) == [], "walk in batches with ctx.at_pace (docs: seeds.md#004-26)"


def test_a_handler_that_walks_as_fast_as_it_can_is_found() -> None:
    assert unpaced("def forget():\n    for _ in range(20):\n        pass\n    while True:\n        pass") == [2, 4]


def test_what_the_source_documents_ask_for_has_its_interval() -> None:
    """Where an installation has set none of its own: the schedule and the settings' defaults say the same."""
    assert {name: INTERVALS[name] for name in PROMISED} == PROMISED
    assert INTERVALS == EVERY


def test_each_job_is_in_the_queue_of_its_kind() -> None:
    queues = {job.name: job.queue for job in JOBS}
    assert {name for name, queue in queues.items() if queue == Queue.CRITICAL} == CRITICAL
    notifying = {"approvals.notify", "approvals.show_outcome", "budgets.alert", "deadletter.send_alert", "email.send"}
    notifying |= {f"notifications.{name}" for name in ("deliver", "close_digest")}
    notifying |= {f"notifications.send_{channel}" for channel in ("email", "sms", "push")}
    notifying |= {"reminders.deliver"}
    assert {name for name, queue in queues.items() if queue == Queue.NOTIFICATIONS} == notifying
    follow_ups = ("accounts", "agents", "drafts", "threads", "triage")
    assert queues["actions.execute_decided"] == Queue.DEFAULT
    assert {queues[name] for name in queues if name.startswith(follow_ups)} == {Queue.DEFAULT, Queue.CRITICAL}


def test_each_category_is_retried_as_its_source_document_asks() -> None:
    """Mail has several policies; what tells a person has one that is as long, or longer (docs: seeds.md#004-76)."""
    policies: dict[JobCategory, set[str]] = {one: set() for one in JobCategory}
    for job in JOBS:
        policies[job.category].add(job.retry.name)
    assert policies[JobCategory.PLANNING] == {"planning"}
    assert policies[JobCategory.IMPORT_EXPORT] == {"exports"}
    assert policies[JobCategory.MAINTENANCE] == policies[JobCategory.AUDIT_ENRICHMENT] == {"standard"}
    assert policies[JobCategory.NOTIFICATION] == {"notifications", "persistent", "engine"}


def test_the_histograms_reach_to_the_longest_deadline_and_the_most_attempts() -> None:
    assert max(job.deadline.total_seconds() for job in catalogue) <= SECONDS[-1]
    assert max(policy.attempts for policy in POLICIES.values()) <= ATTEMPTS[-1]

"""A client with nothing but `celery[redis]` sends jobs and gets their results, whatever becomes of them."""

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from domain.jobs.job import Origin
from storage.jobs import ledger
from tests.fleet.fleet import Fleet
from tests.fleet.test_producers import contract
from tests.house.reading import ROOT
from tests.waiting import eventually

PINNED = ("celery", "kombu", "billiard", "redis")
"""The releases are those of the fleet, so that the index needs no newer ones."""


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with `celery[redis]` only."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)  # noqa: S603 - our own arguments
    python = folder / "bin" / "python"
    pinned = [f"{name}=={version(name)}" for name in PINNED]
    install = [str(python), "-m", "pip", "install", "--quiet", "celery[redis]", *pinned]
    subprocess.run(install, check=True, cwd=folder)  # noqa: S603 - the same
    return python


class Client:
    """A bare client's process."""

    def __init__(
        self, python: Path, fleet: Fleet, backend: str, sent: Sequence[tuple[str, object, dict[str, Any]]]
    ) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own arguments
            [str(python), "-I", str(ROOT / "tests" / "fleet" / "clients" / "bare_client.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=fleet.outside.folder,
        )
        assert self._process.stdin
        assert self._process.stdout
        self._out = self._process.stdout
        self._process.stdin.write(json.dumps([fleet.broker_url, backend, sent]))
        self._process.stdin.close()
        assert self._out.readline() == "sent\n"

    def answers(self) -> list[list[Any]]:
        """What `get` gave for each."""
        answers: list[list[Any]] = json.loads(self._out.readline())
        self._out.close()
        assert self._process.wait(timeout=30) == 0
        return answers


def test_a_bare_client_gets_the_result_of_every_job(fleet: Fleet, bare_python: Path) -> None:
    backend = fleet.broker_url
    fleet.worker(POSTROOM_RESULTS_URL=backend).ready()

    def job(**given: object) -> dict[str, Any]:
        return contract(fleet.org, **given)

    ending = {"job_type": "probe_jobs.ending"}
    first, canceled = job(payload={"word": "hello"}, **ending), job(scheduled_for="2099-01-01T00:00:00Z")
    sent: list[tuple[str, object, dict[str, Any]]] = [
        ("probe_jobs.ending", first, {}),
        ("probe_jobs.ending", first | {"job_id": str(uuid4())}, {}),
        ("probe_jobs.ending", job(payload={"word": "permanent"}, **ending), {}),
        ("probe_jobs.noop", canceled, {}),
        ("probe_jobs.noop", job(), {"expires": -1}),
        ("no.such_type", job(job_type="no.such_type"), {}),
        ("probe_jobs.noop", job(colour="red"), {}),
        ("probe_jobs.noop", job(), {"link": {"task": "other.task", "args": [], "kwargs": {}, "options": {}}}),
    ]
    client = Client(bare_python, fleet, backend, sent)
    job_id = UUID(canceled["job_id"])
    eventually(lambda: fleet.states([job_id]), within=30, describe="the job to be in the ledger")
    with fleet.client.database.ledger() as tx:
        ledger.cancel(tx, [job_id], "nobody needs it", by=Origin(actor_id="ada"))
    answers = client.answers()
    assert answers == [
        ["SUCCESS", {"word": "hello"}],
        ["SUCCESS", {"word": "hello"}],
        ["FAILURE", "TaskError", ["permanent", "no use"]],
        ["REVOKED", "TaskRevokedError", ["nobody needs it"]],
        ["REVOKED", "TaskRevokedError", ["expired"]],
        ["FAILURE", "TaskError", ["unknown_type", "job_type: no worker knows no.such_type"]],
        ["FAILURE", "TaskError", ["invalid", "colour: Extra inputs are not permitted"]],
        ["FAILURE", "TaskError", ["invalid", "embed.callbacks: a job calls no Celery task when it has ended"]],
    ]
    assert fleet.ask("select count(*) from result_requests where sent_at is null") == [(0,)]
    fleet.check()


def test_a_client_that_comes_late_gets_the_first_job_s_result(fleet: Fleet, bare_python: Path) -> None:
    fleet.worker(POSTROOM_RESULTS_URL=fleet.broker_url).ready()
    first = contract(fleet.org, job_type="probe_jobs.ending", payload={"word": "hello"})
    for sent in (first, first | {"job_id": str(uuid4())}):
        client = Client(
            bare_python, fleet, fleet.broker_url, [("probe_jobs.ending", sent, {"task_id": sent["job_id"]})]
        )
        assert client.answers() == [["SUCCESS", {"word": "hello"}]]
    assert fleet.ask("select count(*) from jobs") == [(1,)]

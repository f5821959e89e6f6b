"""A store that is away, full, or refuses the fleet decides nothing: jobs wait without an attempt, and go on after."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from pydantic import SecretStr

from domain.jobs.job import SYSTEM_ORG
from domain.jobs.retry import EXPORTS
from domain.payloads.exports import ProjectPlanPayload
from domain.payloads.imports import AvailabilityPayload
from domain.payloads.maintenance import SweepArtifactsPayload
from domain.payloads.payload import Payload
from domain.planning.files.artifacts import STORE
from domain.planning.model import Plan
from engine.enqueue import enqueue
from engine.worker.lease import renew
from sandbox.emulator.fault_order import FaultOrder
from sandbox.s3.s3 import S3Control, s3_emulator
from storage.jobs import gates
from storage.planning.projects import Project
from tests.doubles.factories import pass_time
from tests.doubles.planning.planning_jobs import file_of, stored
from tests.doubles.planning.plans import given, person, slot
from tests.doubles.stored_artifacts import bucket_url, files_in
from tests.doubles.told_people import ToldPeople

PLAN = Plan((slot(1, 8, 12), slot(2, 9, 11)), (person(1),), (given(1, 1),))
TABLE = "collaborator,from,until,kind,id\nperson 1,2026-12-01 10:00,2026-12-01 12:00,available,\n"
ROUNDS = 2 * EXPORTS.attempts


def asked(told: ToldPeople, payload: Payload, project: Project | None = None) -> UUID:
    with told.process.database.ledger() as tx:
        org_id = told.org_id if project else SYSTEM_ORG
        (made,) = enqueue(tx, payload, org_id=org_id, project_id=project.project_id if project else None)
    return made.job_id


def state_of(told: ToldPeople, job_id: UUID) -> tuple[str, int]:
    query = "select state, attempt from jobs where id = %s"
    ((state, attempt),) = told.database.execute(query, (job_id,)).fetchall()
    return state, attempt


def closed_gates(told: ToldPeople) -> list[tuple[str, str]]:
    with told.process.database.ledger() as tx:
        return [(gate.scope, gate.key) for gate in gates.closed(tx)]


def later(told: ToldPeople) -> None:
    """The gates' ends come, and the jobs' times."""
    pass_time(told.database, timedelta(days=1, minutes=1))
    told.hurry()
    renew(told.process)


@contextmanager
def away(folder: Path, how: str) -> Iterator[None]:
    elsewhere = folder.with_name("elsewhere")
    folder.rename(elsewhere)
    if how == "nothing is mounted":
        folder.mkdir()
    if how == "a file":
        folder.touch()
    yield
    assert not folder.is_dir() or list(folder.iterdir()) == [], "nobody has made it again"
    if folder.is_dir():
        folder.rmdir()
    folder.unlink(missing_ok=True)
    elsewhere.rename(folder)


@pytest.mark.parametrize("how", ["renamed", "nothing is mounted", "a file"])
def test_what_needs_a_folder_that_is_away_waits_and_goes_on(told: ToldPeople, tmp_path: Path, how: str) -> None:
    project, folder = stored(told, PLAN), tmp_path / "artifacts"
    table = file_of(told, TABLE.encode(), "a.csv", "text/csv")
    before = files_in(folder)
    export = asked(told, ProjectPlanPayload(project_id=project.project_id, format="csv"), project)
    imported = asked(told, AvailabilityPayload(project_id=project.project_id, artifact_id=table.artifact_id), project)
    housekeeping = asked(told, SweepArtifactsPayload())
    with away(folder, how):
        for _ in range(ROUNDS):
            assert told.run(imported) == "queued"
            assert told.run(export) == "not_claimed", "the first that met the store has closed its gate"
            later(told)
            assert told.run(export) == "queued"
            assert closed_gates(told) == [("provider", STORE)]
            later(told)
            assert told.run(housekeeping) == "queued"
    assert files_in(folder) == before
    later(told)
    for job_id in (imported, export, housekeeping):
        assert state_of(told, job_id) == ("queued", 0)
        assert told.run(job_id) == "succeeded"
        assert state_of(told, job_id) == ("succeeded", 1)


@pytest.mark.parametrize(
    ("fault", "scope"),
    [
        ("full", "provider"),
        ("refused", "provider"),
        ("unreachable", "provider"),
        ("no bucket", "provider"),
        ("busy", "org_provider"),
        ("cut off", "org_provider"),
    ],
)
def test_an_export_waits_for_a_bucket_and_spends_no_attempt(told: ToldPeople, fault: str, scope: str) -> None:
    project = stored(told, PLAN)
    with s3_emulator() as emulator:
        s3 = S3Control(emulator.url)
        good = bucket_url(s3.url)
        bad = good.get_secret_value()
        match fault:
            case "full":
                s3.set_room(0)
            case "refused":
                bad = bad.replace("emulated-secret", "another")
            case "unreachable":
                bad = bad.replace(s3.url, "http://127.0.0.1:1")
            case "no bucket":
                bad = bad.replace("@postroom", "@another")
            case "busy":
                s3.order(FaultOrder(operation="objects.put", times=None, status=503, reason="SlowDown"))
            case _:
                s3.order(FaultOrder(operation="objects.put", times=None, drop="before"))
        told.process.settings = told.process.settings.model_copy(update={"artifacts_url": SecretStr(bad)})
        export = asked(told, ProjectPlanPayload(project_id=project.project_id, format="csv"), project)
        for _ in range(ROUNDS):
            assert told.run(export) == "queued"
            assert [one for one, _ in closed_gates(told)] == [scope]
            assert told.run(export) == "not_claimed"
            later(told)
        assert state_of(told, export) == ("queued", 0)

"""Runs jobs of a project, and reads the files that they have kept."""

from hashlib import sha256
from typing import Any
from uuid import UUID

from domain.payloads.payload import Payload
from domain.planning.files.artifacts import place_of
from domain.planning.model import Plan
from engine.enqueue import enqueue
from providers.artifacts.obstore_store import ObstoreArtifacts
from storage.planning.artifacts import StoredArtifact
from storage.planning.projects import Project
from tests.doubles.planning.stored_plans import store_plan
from tests.doubles.stored_artifacts import store_artifact
from tests.doubles.told_people import ToldPeople


def stored(told: ToldPeople, plan: Plan) -> Project:
    """A project with a plan, all slots in one run sheet."""
    with told.process.database.ledger() as tx:
        return store_plan(tx, told.org_id, plan)[0]


def run(told: ToldPeople, payload: Payload, project_id: UUID | None = None) -> tuple[str, dict[str, Any]]:
    """How a job ended, and its output or its error."""
    with told.process.database.ledger() as tx:
        (made,) = enqueue(tx, payload, org_id=told.org_id, project_id=project_id)
    state = told.run(made.job_id)
    query = "select coalesce(output, error) from jobs where id = %s"
    ((said,),) = told.database.execute(query, (made.job_id,)).fetchall()
    return state, said


def kept_file(told: ToldPeople, output: dict[str, Any], project_id: UUID) -> bytes:
    """The file that a job has kept: an artifact of the project, whether or not the job was."""
    query = "select org_id, project_id, size, sha256 from artifacts where id = %s"
    row = told.database.execute(query, (output["artifact_id"],)).fetchone()
    assert row is not None
    store = ObstoreArtifacts(told.process.settings.artifacts_url)
    data = store.read(place_of(told.org_id, UUID(output["artifact_id"])), 0, output["size"])
    assert row[:2] == (told.org_id, project_id)
    assert row[2:] == (output["size"], output["sha256"]) == (len(data), sha256(data).hexdigest())
    return data


def file_of(told: ToldPeople, data: bytes, name: str, media_type: str, org_id: UUID | None = None) -> StoredArtifact:
    """An artifact that a service has stored."""
    with told.process.database.ledger() as tx:
        settings = told.process.settings
        return store_artifact(tx, settings, org_id or told.org_id, data, name=name, media_type=media_type)

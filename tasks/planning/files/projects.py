"""The project that a job works on, and files that it may read."""

from uuid import UUID

from domain.jobs.failures import Gone, Invalid
from engine.context import JobContext
from storage.planning import projects
from storage.planning.artifacts import StoredArtifact
from storage.planning.projects import Project, ProjectRef
from storage.postgres.database import Transaction
from tasks.planning.files.artifact_files import find_file


def project_of(ctx: JobContext, tx: Transaction, project_id: UUID) -> Project:
    """The project of the payload, which is the job's where the job names one; raises `Invalid`, and `Gone`."""
    if ctx.job.project_id not in {None, project_id}:
        raise Invalid("payload.project_id", "is not the project of the job")
    return projects.project(tx, ProjectRef(ctx.org_id, project_id))


def find_file_for(ctx: JobContext, artifact_id: UUID, field: str, project_id: UUID) -> StoredArtifact:
    """As `find_file`, for a file of the project or of none; raises `Gone` alike for another project's."""
    found = find_file(ctx, artifact_id, field)
    if found.project_id not in {None, project_id}:
        raise Gone(f"{field}: there is no artifact {artifact_id}")
    return found

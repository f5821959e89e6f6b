"""Artifacts: which files an org has, links to them, and their end. What stores bytes calls `keep_artifact`."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import Field

from domain.jobs.failures import Conflict, Gone
from domain.jobs.job import Origin
from domain.orgs.access.api_keys import Role
from domain.planning.files.artifacts import ArtifactState, NewArtifact
from domain.planning.files.links import LASTS, LONGEST, ArtifactLink, until_of
from operations.call import Call
from operations.operation import Area, Record, Route
from operations.pages import Page, Window
from storage.jobs import ledger
from storage.jobs.audit_log import deeds
from storage.orgs.secrets.sealing import Sealer
from storage.planning import artifacts
from storage.planning.artifacts import StoredArtifact
from storage.postgres.database import Transaction

ARTIFACTS = Area("artifacts", "See which files an org has, give links to them, and delete them.")

STORED = ("artifact.stored",)


class ArtifactView(Record):
    """A file of an org. Its bytes are read by a link."""

    plural: ClassVar = "artifacts"
    columns: ClassVar = ("artifact_id", "kind", "name", "media_type", "size", "state", "created_at", "expires_at")
    artifact_id: UUID
    org_id: UUID
    project_id: UUID | None
    kind: str = Field(description="`upload`, or what the job that made it calls its files.")
    name: str
    media_type: str
    size: int = Field(description="Bytes.")
    sha256: str = Field(description="Of its bytes, as hexadecimal digits.")
    state: ArtifactState
    job_id: UUID | None = Field(description="The job that made it.")
    created_at: datetime
    expires_at: datetime
    deleted_at: datetime | None


class ArtifactLinkView(Record):
    """A link by which anybody reads a file who has it, until its time, the file's end, or its revocation."""

    artifact_id: UUID
    org_id: UUID
    url: str
    until: datetime


@ARTIFACTS.look("list", Route("GET", "/artifacts"), org="required")
def list_artifacts(call: Call, window: Window) -> Page[ArtifactView]:
    """List an org's files, the newest first."""
    with call.reading() as tx:
        return window.records(tx, "list_artifacts", ArtifactView, org_id=call.org)


@ARTIFACTS.look("show", Route("GET", "/artifacts/{artifact_id}"))
def show_artifact(call: Call, artifact_id: UUID) -> ArtifactView:
    """Show what is known of a file."""
    with call.reading() as tx:
        return ArtifactView.model_validate(_found(tx, call, artifact_id))


@ARTIFACTS.deed(
    "link", Route("POST", "/artifacts/{artifact_id}/link"), role=Role.WRITER, events=("artifact.link_given",)
)
def link_artifact(
    call: Call,
    artifact_id: UUID,
    *,
    lasts_s: Annotated[
        int, Field(ge=1, le=int(LONGEST.total_seconds()), description="Seconds for which the link is good.")
    ] = int(LASTS.total_seconds()),
) -> ArtifactLinkView:
    """Give a link to a file. Each reading by it is audited. 409 when the installation has no public address."""
    public_url = call.settings.public_url
    if not public_url:
        raise Conflict("POSTROOM_PUBLIC_URL is not set: nobody knows the gateway's address", code="artifacts.no_url")
    with call.writing() as tx:
        found = _ready(tx, call, artifact_id)
        until = until_of(timedelta(seconds=lasts_s), ledger.read_time(tx), found.expires_at)
        link = ArtifactLink(found.artifact_id, found.org_id, until, found.link_number)
        call.audit(
            tx, found.org_id, {"artifact_id": str(artifact_id), "until": until.isoformat()}, project_id=found.project_id
        )
    address = link.address(public_url, Sealer.of(call.settings).sign)
    return ArtifactLinkView(artifact_id=artifact_id, org_id=found.org_id, url=address, until=until)


@ARTIFACTS.deed(
    "revoke", Route("POST", "/artifacts/{artifact_id}/revoke"), role=Role.WRITER, events=("artifact.links_revoked",)
)
def revoke_artifact_links(call: Call, artifact_id: UUID) -> ArtifactView:
    """Make every link to a file good for nothing that was given so far; the file stays."""
    with call.writing() as tx:
        found = _ready(tx, call, artifact_id)
        call.audit(tx, found.org_id, {"artifact_id": str(artifact_id)}, project_id=found.project_id)
        artifacts.revoke_links(tx, artifact_id)
        return ArtifactView.model_validate(_found(tx, call, artifact_id))


@ARTIFACTS.deed("delete", Route("DELETE", "/artifacts/{artifact_id}"), events=("artifact.deleted",))
def delete_artifact(call: Call, artifact_id: UUID) -> ArtifactView:
    """Delete a file: nobody reads it from now on, and its bytes are removed within minutes."""
    with call.writing() as tx:
        found = _ready(tx, call, artifact_id)
        artifacts.delete(tx, artifact_id)
        call.audit(
            tx, found.org_id, {"artifact_id": str(artifact_id), "sha256": found.sha256}, project_id=found.project_id
        )
        return ArtifactView.model_validate(_found(tx, call, artifact_id))


def keep_artifact(call: Call, made: NewArtifact) -> ArtifactView:
    """Write that the caller has stored a file, whose bytes lie in the store; by HTTP once per `Idempotency-Key`."""
    call.begin(Role.WRITER, STORED, is_audited=False, of_org=True)
    with call.writing() as tx:

        def make() -> Sequence[UUID]:
            artifacts.add(tx, call.org, made)
            facts = {"artifact_id": str(made.artifact_id), "size": made.size, "sha256": made.sha256}
            call.audit(tx, call.org, facts)
            return [made.artifact_id]

        (artifact_id,) = call.once(tx, make)
        return ArtifactView.model_validate(_found(tx, call, artifact_id))


def record_download(tx: Transaction, found: StoredArtifact, by: Origin, *, start: int, end: int) -> None:
    """Write that somebody reads bytes of a file by a link."""
    facts = {"artifact_id": str(found.artifact_id), "start": start, "end": end}
    deeds.record(tx, "artifact.downloaded", facts, by=by, org_id=found.org_id, project_id=found.project_id)


def _found(tx: Transaction, call: Call, artifact_id: UUID) -> StoredArtifact:
    return call.found(artifacts.find(tx, artifact_id), f"artifact {artifact_id}")


def _ready(tx: Transaction, call: Call, artifact_id: UUID) -> StoredArtifact:
    found = _found(tx, call, artifact_id)
    if not found.is_ready:
        raise Gone(f"artifact {artifact_id} was deleted, or its time is over")
    return found

"""Artifacts: what is known of files whose bytes lie in the store."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from domain.planning.files.artifacts import REFUSED_FOR, REMEMBER_FOR, ArtifactState, NewArtifact, place_of
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.postgres.retention import Retention

RETENTION = Retention("artifacts", "removed_at", REMEMBER_FOR, batch=200)
"""Rows whose bytes are gone."""


@dataclass(frozen=True, slots=True)
class StoredArtifact:
    """An artifact as its row has it; one whose time is over is deleted, whether anybody has tidied up or not."""

    artifact_id: UUID
    org_id: UUID
    project_id: UUID | None
    kind: str
    name: str
    media_type: str
    size: int
    sha256: str
    state: ArtifactState
    job_id: UUID | None
    link_number: int
    created_at: datetime
    expires_at: datetime
    deleted_at: datetime | None

    @property
    def place(self) -> str:
        """Where its bytes lie."""
        return place_of(self.org_id, self.artifact_id)

    @property
    def is_ready(self) -> bool:
        """Whether it can be read."""
        return self.state is ArtifactState.READY


class DeletedArtifact(NamedTuple):
    """An artifact whose bytes are to go."""

    artifact_id: UUID
    org_id: UUID
    size: int

    @property
    def place(self) -> str:
        """Where they lie."""
        return place_of(self.org_id, self.artifact_id)


def add(tx: Transaction, org_id: UUID, made: NewArtifact) -> None:
    """Write that an artifact's bytes lie in the store."""
    tx.run(
        "add_artifact",
        artifact_id=made.artifact_id,
        org_id=org_id,
        project_id=made.project_id,
        kind=made.facts.kind,
        name=made.facts.name,
        media_type=made.facts.media_type,
        size=made.size,
        sha256=made.sha256,
        job_id=made.job_id,
        keep_for=made.keep_for,
    )


def find(tx: Transaction, artifact_id: UUID) -> StoredArtifact | None:
    """An artifact, if there is one."""
    return tx.first("find_artifact", _artifact, artifact_id=artifact_id)


def revoke_links(tx: Transaction, artifact_id: UUID) -> None:
    """Make every link that was given so far good for nothing."""
    tx.run("revoke_artifact_links", artifact_id=artifact_id)


def delete(tx: Transaction, artifact_id: UUID) -> bool:
    """Delete an artifact, so that nobody reads it any more; false for one that was deleted before."""
    return bool(tx.run("delete_artifact", artifact_id=artifact_id))


def expire(tx: Transaction, *, batch: int) -> int:
    """Delete artifacts of all orgs whose time is over; returns how many. For the ledger role, as all that follows."""
    return len(tx.run("expire_artifacts", batch=batch))


def to_remove(tx: Transaction, *, refused_for: timedelta = REFUSED_FOR, batch: int) -> Sequence[DeletedArtifact]:
    """Deleted artifacts of all orgs whose bytes still lie in the store, but for what it has refused a while ago."""
    rows = tx.run("list_artifacts_to_remove", refused_for=refused_for, batch=batch)
    return [DeletedArtifact(*row) for row in rows]


def of_erased_org(tx: Transaction, org_id: UUID, *, most: int) -> Sequence[DeletedArtifact]:
    """Deleted files of an org that is being erased, whose bytes are still in the store."""
    return [DeletedArtifact(*row) for row in tx.run("list_erased_files", org_id=org_id, most=most)]


def record_refused(tx: Transaction, artifact_ids: Sequence[UUID]) -> None:
    """Write that the store has refused to remove the bytes of artifacts: others go before them."""
    tx.run("record_refused_artifacts", artifact_ids=list(artifact_ids))


def record_removed(tx: Transaction, artifact_ids: Sequence[UUID]) -> None:
    """Write that the bytes of artifacts are gone."""
    tx.run("record_removed_artifacts", artifact_ids=list(artifact_ids))


def known(tx: Transaction, artifact_ids: Sequence[UUID]) -> set[UUID]:
    """Which of these artifacts have a row, whatever its state."""
    return {row.artifact_id for row in tx.run("list_known_artifacts", artifact_ids=list(artifact_ids))}


def _artifact(row: Row) -> StoredArtifact:
    return StoredArtifact(**row._asdict() | {"state": ArtifactState(row.state)})

"""How a job keeps a file as an artifact, and reads one: bytes first, the row with the end of the job.

No effect guards the bytes: they lie under an id of their own, which nobody knows before the row says it. An attempt
that dies in between leaves bytes that nothing points to, and those are swept (docs: artifacts.md#bytes-first).
"""

import hashlib
import json
from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from uuid import UUID, uuid4

from domain.jobs.failures import Gone, Permanent, Transient
from domain.jobs.job import JsonObject
from domain.planning.files.artifacts import KEEP_FOR, ArtifactFacts, NewArtifact, place_of
from engine.context import JobContext
from providers.artifacts.obstore_store import ObstoreArtifacts
from providers.ports.artifact_store import ArtifactStore
from storage.planning import artifacts
from storage.planning.artifacts import StoredArtifact
from storage.postgres.database import Transaction


def store_of(ctx: JobContext) -> ArtifactStore:
    """The store of artifacts, one for the process."""
    return ctx.shared("artifacts", partial(ObstoreArtifacts, ctx.settings.artifacts_url))


def keep_file(
    ctx: JobContext,
    facts: ArtifactFacts,
    pieces: Iterable[bytes],
    *,
    project_id: UUID | None = None,
    keep_for: timedelta = KEEP_FOR,
) -> NewArtifact:
    """Put a file's bytes into the store. The job gives the result to `record_file` in its `Done(writes=…)`.

    The file is of the named project, else of the job's.
    """
    ctx.check()
    artifact_id, digest, size = uuid4(), hashlib.sha256(), 0
    kept: list[bytes] = []
    for piece in pieces:
        digest.update(piece)
        size += len(piece)
        kept.append(piece)
    store_of(ctx).put(place_of(ctx.org_id, artifact_id), kept)
    return NewArtifact(
        artifact_id,
        facts,
        size,
        digest.hexdigest(),
        keep_for=keep_for,
        project_id=project_id or ctx.job.project_id,
        job_id=ctx.job.job_id,
    )


def keep_document(ctx: JobContext, kind: str, name: str, document: JsonObject, *, project_id: UUID) -> NewArtifact:
    """As `keep_file`, for a document as JSON: the same document is the same bytes."""
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    facts = ArtifactFacts(kind=kind, name=name, media_type="application/json")
    return keep_file(ctx, facts, [text.encode()], project_id=project_id)


def reference_to(made: NewArtifact) -> JsonObject:
    """What a job's output says of the file that it made."""
    return {"artifact_id": str(made.artifact_id), "size": made.size, "sha256": made.sha256}


def record_file(tx: Transaction, org_id: UUID, made: NewArtifact) -> None:
    """Write the row of an artifact that was kept, in the transaction of the job's end: from then on it can be read."""
    artifacts.add(tx, org_id, made)


def find_file(ctx: JobContext, artifact_id: UUID, field: str) -> StoredArtifact:
    """An artifact of the job's org that can be read; raises `Gone` by the field that names it."""
    with ctx.read() as tx:
        found = artifacts.find(tx, artifact_id)
    if found is None:
        raise no_such_file(artifact_id, field)
    if not found.is_ready:
        raise Gone(f"{field}: artifact {artifact_id} was deleted, or its time is over")
    return found


def no_such_file(artifact_id: UUID, field: str) -> Gone:
    """What to raise by the field that names a file which the job's org does not have."""
    return Gone(f"{field}: there is no artifact {artifact_id}")


def read_file(ctx: JobContext, found: StoredArtifact) -> bytes:
    """The bytes of an artifact, hashed again before anybody reads them; raises `Permanent` for others.

    Raises `Transient` where nothing lies though the row says `ready`: the file may come back, as with a backup.
    """
    try:
        data = store_of(ctx).read(found.place, 0, found.size)
    except Gone as gone:
        words = f"artifact {found.artifact_id} has no bytes in the store; put them back, or delete the artifact"
        raise Transient(words, code=gone.code) from gone
    if hashlib.sha256(data).hexdigest() != found.sha256:
        words = f"artifact {found.artifact_id} has other bytes than those that were stored"
        raise Permanent(words, code="artifacts.altered")
    return data

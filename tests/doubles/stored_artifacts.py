"""Artifacts as a job or a service would have stored them."""

import hashlib
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

from pydantic import SecretStr

from domain.planning.files.artifact_urls import MARK
from domain.planning.files.artifacts import KEEP_FOR, ArtifactFacts, NewArtifact, place_of
from providers.artifacts.obstore_store import ObstoreArtifacts
from sandbox.s3.service import ACCESS_KEY, BUCKET, SECRET_KEY
from settings import Settings
from storage.planning import artifacts
from storage.planning.artifacts import StoredArtifact
from storage.postgres.database import Transaction


def bucket_url(endpoint: str) -> SecretStr:
    """The setting that names the emulator's bucket."""
    return SecretStr(f"s3://{ACCESS_KEY}:{SECRET_KEY}@{BUCKET}?region=eu-central-1&endpoint={endpoint}")


def files_in(folder: Path) -> set[Path]:
    """The files of a folder of artifacts, without its mark."""
    return {one for one in folder.rglob("*") if one.is_file() and one.name != MARK}


def store_artifact(
    tx: Transaction,
    settings: Settings,
    org_id: UUID,
    data: bytes = b"some bytes",
    *,
    name: str = "a.txt",
    media_type: str = "text/plain",
    keep_for: timedelta = KEEP_FOR,
) -> StoredArtifact:
    """Bytes in the store, and their row."""
    made = NewArtifact(
        uuid4(),
        ArtifactFacts(kind="upload", name=name, media_type=media_type),
        len(data),
        hashlib.sha256(data).hexdigest(),
        keep_for,
    )
    ObstoreArtifacts(settings.artifacts_url).put(place_of(org_id, made.artifact_id), [data])
    artifacts.add(tx, org_id, made)
    found = artifacts.find(tx, made.artifact_id)
    assert found is not None
    return found

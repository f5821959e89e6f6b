"""`celery -A tasks artifacts`: `put`, beside what the area declares."""

import hashlib
from pathlib import Path
from uuid import uuid4

import click

from commands.answers import json_option, operator_option, show_document
from commands.operations import AREAS, call_of
from domain.jobs.failures import Failure, Invalid
from domain.planning.files.artifact_urls import MARK
from domain.planning.files.artifacts import (
    ANY_BYTES,
    UPLOAD,
    ArtifactFacts,
    NewArtifact,
    check_unpacked,
    checked_facts,
    place_of,
)
from operations.call import Call
from operations.planning.exchange.artifacts import ArtifactView, keep_artifact
from providers.artifacts.obstore_store import ObstoreArtifacts
from settings import Settings
from storage.postgres.readiness import Check

artifacts: click.Group = AREAS.artifacts

STORE = "store of artifacts"
PROBE = "doctor"
"""Where the examination writes, beside all orgs' places."""
PROBE_WITHIN_S = 5.0
AWAY = (
    "mount the volume; for a new store make the folder's parent and run celery -A tasks database migrate;"
    f" in a folder that has lost its mark make the file {MARK}"
)
REMEDY = "mend POSTROOM_ARTIFACTS_URL, the rights to the folder or bucket, or make room there"


def store_check(settings: Settings) -> Check:
    """Whether this process can write to the store of artifacts, read there, and delete."""
    place, data = f"{PROBE}/{uuid4()}", b"examined"
    try:
        store = ObstoreArtifacts(settings.artifacts_url, within_s=PROBE_WITHIN_S)
        store.put(place, [data])
        is_whole = store.read(place, 0, len(data)) == data
        store.delete([place])
    except Failure as failure:
        remedy = f"{AWAY}; or {REMEDY}" if failure.code == "artifacts.away" else REMEDY
        return Check(STORE, ok=False, finding=failure.reason, remedy=remedy)
    if not is_whole:
        return Check(STORE, ok=False, finding="other bytes are read than were written", remedy=REMEDY)
    return Check(STORE, ok=True, finding="written to, read and tidied up")


@artifacts.command("put")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--org", required=True, help="The org's id or name.")
@click.option("--name", help="What it is called; by default as the file.")
@click.option("--kind", default=UPLOAD, show_default=True, help="A word for what it is.")
@click.option("--media-type", default=ANY_BYTES, show_default=True, help="Such as application/pdf.")
@operator_option
@json_option
def put_artifact(  # noqa: PLR0913, PLR0917 - one parameter per option
    file: Path,
    org: str,
    name: str | None,
    kind: str,
    media_type: str,
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Store a FILE as an artifact of an org."""
    facts = checked_facts(kind, name or file.name, media_type)
    kept = store_file(call_of(operator_name, org), file, facts)
    show_document("artifact", kept.model_dump(), as_json=as_json)


def store_file(call: Call, file: Path, facts: ArtifactFacts) -> ArtifactView:
    """Store a file as an artifact of the caller's org; raises `Invalid` for one that is empty, too long or packed."""
    most = call.settings.artifact_bytes
    with file.open("rb") as opened:
        data = opened.read(most + 1)
    if not data or len(data) > most:
        raise Invalid("file", f"has {'no' if not data else 'more than ' + str(most)} bytes")
    check_unpacked(data)
    made = NewArtifact(uuid4(), facts, len(data), hashlib.sha256(data).hexdigest())
    ObstoreArtifacts(call.settings.artifacts_url).put(place_of(call.org, made.artifact_id), [data])
    return keep_artifact(call, made)

"""The end of artifacts: the state first, the bytes after, and bytes that nobody knows last of all."""

import os
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from domain.jobs.job import SYSTEM_ORG
from domain.payloads.maintenance import ExpireArtifactsPayload, SweepArtifactsPayload
from domain.payloads.payload import Payload
from domain.planning.files.artifacts import ORPHANED_AFTER, REFUSED_FOR, place_of
from engine.catalogue import Job
from engine.enqueue import enqueue
from engine.runtime import Runtime
from sandbox.emulator.fault_order import FaultOrder
from sandbox.s3.s3 import S3Control, s3_emulator
from storage.planning import artifacts
from storage.planning.artifacts import StoredArtifact
from tasks.jobs import maintenance
from tasks.planning.files.removing import FIRST_REFUSED
from tests.doubles.factories import make_org
from tests.doubles.inline_worker import run_job
from tests.doubles.stored_artifacts import bucket_url, files_in, store_artifact

OLD_S = (ORPHANED_AFTER + timedelta(hours=1)).total_seconds()
NONE_REFUSED: dict[str, Any] = {"refused": 0, "refused_places": {}}


def stored(process: Runtime, org_id: UUID, data: bytes = b"some bytes") -> StoredArtifact:
    with process.database.ledger() as tx:
        return store_artifact(tx, process.settings, org_id, data)


def expire(process: Runtime, database: Connection) -> dict[str, Any]:
    return run(process, database, maintenance.expire_artifacts, ExpireArtifactsPayload())


def sweep(process: Runtime, database: Connection) -> dict[str, Any]:
    return run(process, database, maintenance.sweep_artifacts, SweepArtifactsPayload())


def run(process: Runtime, database: Connection, job_type: Job[Any], payload: Payload) -> dict[str, Any]:
    """Run the housekeeping once; its output, empty where it has failed."""
    with process.database.ledger() as tx:
        (made,) = enqueue(tx, payload, org_id=SYSTEM_ORG)
    run_job(process, job_type, made.job_id)
    row = database.execute("select coalesce(output, '{}') from jobs where id = %s", (made.job_id,)).fetchone()
    assert row is not None
    return dict(row[0])


def kept(tmp_path: Path) -> set[str]:
    root = tmp_path / "artifacts"
    return {one.relative_to(root).as_posix() for one in files_in(root)}


def test_what_has_ended_goes_and_all_else_stays(
    process: Runtime, org: UUID, database: Connection, tmp_path: Path
) -> None:
    other = make_org(database, "another")
    expired, deleted, stays = stored(process, org, b"12345"), stored(process, other), stored(process, org)
    database.execute("update artifacts set expires_at = now() where id = %s", (expired.artifact_id,))
    with process.database.ledger() as tx:
        artifacts.delete(tx, deleted.artifact_id)
    assert expire(process, database) == {"expired": 1, "removed": 2, "bytes": 15, "forgotten": 0, **NONE_REFUSED}
    assert kept(tmp_path) == {stays.place}
    states: dict[UUID, str] = dict(database.execute("select id, state from artifacts").fetchall())
    assert states == {expired.artifact_id: "deleted", deleted.artifact_id: "deleted", stays.artifact_id: "ready"}
    assert expire(process, database) == {"expired": 0, "removed": 0, "bytes": 0, "forgotten": 0, **NONE_REFUSED}


def test_a_row_is_forgotten_long_after_its_bytes(process: Runtime, org: UUID, database: Connection) -> None:
    stored(process, org)
    database.execute("update artifacts set expires_at = now()")
    expire(process, database)
    database.execute("update artifacts set removed_at = now() - interval '31 days'")
    assert expire(process, database)["forgotten"] == 1
    assert database.execute("select count(*) from artifacts").fetchone() == (0,)


def test_only_old_bytes_without_a_row_are_swept(
    process: Runtime, org: UUID, database: Connection, tmp_path: Path
) -> None:
    known = stored(process, org)
    root = tmp_path / "artifacts"
    young, old = place_of(org, uuid4()), place_of(org, uuid4())
    cut_off, being_written = (f"{place_of(org, uuid4())}#1" for _ in range(2))
    for place in (young, old, cut_off, being_written, "somebody/else.txt"):
        (root / place).parent.mkdir(exist_ok=True, parents=True)
        (root / place).write_bytes(b"12345")
    for place in (old, cut_off, known.place, "somebody/else.txt"):
        os.utime(root / place, (time.time() - OLD_S,) * 2)
    assert sweep(process, database) == {"seen": 6, "removed": 2, "bytes": 10, **NONE_REFUSED}
    assert kept(tmp_path) == {known.place, young, being_written, "somebody/else.txt"}


def test_the_bytes_of_a_deleted_artifact_are_no_orphan_yet(
    process: Runtime, org: UUID, database: Connection, tmp_path: Path
) -> None:
    deleted = stored(process, org)
    os.utime(tmp_path / "artifacts" / deleted.place, (time.time() - OLD_S,) * 2)
    with process.database.ledger() as tx:
        artifacts.delete(tx, deleted.artifact_id)
    assert sweep(process, database)["removed"] == 0
    assert expire(process, database)["removed"] == 1


@pytest.mark.parametrize("is_done", [True, False])
def test_a_bucket_that_does_not_delete_is_asked_again(
    process: Runtime, org: UUID, database: Connection, is_done: bool
) -> None:
    with s3_emulator() as emulator:
        s3 = S3Control(emulator.url)
        process.settings = process.settings.model_copy(update={"artifacts_url": bucket_url(s3.url)})
        ended = stored(process, org)
        database.execute("update artifacts set expires_at = now()")
        s3.order(FaultOrder(operation="objects.delete_many", status=503, times=3, after_execution=is_done))
        assert expire(process, database) == {}, "all three were refused: the batch, the artifact alone, a file just put"
        with process.database.ledger() as tx:
            found = artifacts.find(tx, ended.artifact_id)
        assert found is not None
        assert not found.is_ready
        assert expire(process, database)["removed"] == 1
        assert all(key.startswith(f"{SYSTEM_ORG}/") for key in s3.objects()), "of what was just put, an orphan stays"
        counted = Counter(call.status for call in s3.journal("objects.delete_many"))
        assert counted == {503: 3, 200: 1}


def obstruct(tmp_path: Path, place: str) -> None:
    """Make a folder of a file: the store does not remove one that is not empty."""
    path = tmp_path / "artifacts" / place
    path.unlink()
    path.mkdir()
    (path / "something").touch()


def test_bytes_that_cannot_be_removed_hold_up_no_other_orgs(
    process: Runtime, org: UUID, database: Connection, tmp_path: Path
) -> None:
    stuck = [stored(process, make_org(database, "another")) for _ in range(FIRST_REFUSED)]
    goes = [stored(process, org) for _ in range(3)]
    for one in stuck:
        obstruct(tmp_path, one.place)
    database.execute("update artifacts set state = 'deleted', deleted_at = now() - interval '2 hours'")
    ids = [one.artifact_id for one in goes]
    database.execute("update artifacts set deleted_at = now() where id = any (%s)", (ids,))
    output = expire(process, database)
    assert (output["removed"], output["refused"]) == (3, FIRST_REFUSED)
    assert set(output["refused_places"]) == {one.place for one in stuck}
    assert all(reason.startswith("the store of artifacts") for reason in output["refused_places"].values())
    assert not any((tmp_path / "artifacts" / one.place).exists() for one in goes)
    assert not list((tmp_path / "artifacts" / str(SYSTEM_ORG)).glob("*")), "the file that was just put is gone again"
    assert expire(process, database)["refused"] == 0, "what was refused waits"
    database.execute("update artifacts set refused_at = refused_at - %s", (REFUSED_FOR,))
    for one in stuck:
        (tmp_path / "artifacts" / one.place / "something").unlink()
        (tmp_path / "artifacts" / one.place).rmdir()
    assert expire(process, database)["removed"] == FIRST_REFUSED


def test_an_orphan_that_cannot_be_removed_holds_up_no_other(process: Runtime, org: UUID, database: Connection) -> None:
    stuck, goes = place_of(org, UUID(int=1)), [place_of(org, UUID(int=number)) for number in (2, 3)]
    with s3_emulator() as emulator:
        s3 = S3Control(emulator.url)
        process.settings = process.settings.model_copy(update={"artifacts_url": bucket_url(s3.url)})
        for place in (stuck, *goes):
            s3.put_object(place, "12345", age_s=OLD_S)
        # As S3 answers where it refuses one of the keys: status 200, and the key with a code (DeleteObjects).
        words = f"<Error><Key>{stuck}</Key><Code>AccessDenied</Code><Message>locked</Message></Error>"
        answer = f"<DeleteResult>{words}</DeleteResult>"
        s3.order(FaultOrder(operation="objects.delete_many", body_contains=stuck, times=None, status=200, text=answer))
        output = sweep(process, database)
        assert (output["removed"], output["bytes"], output["refused"]) == (2, 10, 1)
        assert set(output["refused_places"]) == set(s3.objects()) == {stuck}


@pytest.mark.parametrize("removes", [True, False])
def test_a_full_store_fails_the_job_only_where_it_removes_nothing(
    process: Runtime, org: UUID, database: Connection, removes: bool
) -> None:
    with s3_emulator() as emulator:
        s3 = S3Control(emulator.url)
        process.settings = process.settings.model_copy(update={"artifacts_url": bucket_url(s3.url)})
        stuck = stored(process, org)
        database.execute("update artifacts set expires_at = now()")
        s3.set_room(0)
        hit = stuck.place if removes else None
        s3.order(FaultOrder(operation="objects.delete_many", body_contains=hit, times=None, status=403))
        output = expire(process, database)
        assert output.get("refused") == (1 if removes else None)

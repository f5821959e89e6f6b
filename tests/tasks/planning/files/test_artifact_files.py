"""How jobs keep and read files: bytes first, the row with the job's end; others' and altered bytes are refused."""

from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from domain.jobs.job import Done, Outcome
from domain.jobs.queues import Queue
from domain.payloads.payload import Payload
from domain.planning.files.artifacts import ArtifactFacts, place_of
from engine.app import publish_catalogue, register
from engine.catalogue import Job, job
from engine.context import JobContext
from engine.enqueue import enqueue
from engine.runtime import Runtime
from storage.planning import artifacts
from storage.postgres.database import Transaction
from tasks.planning.files.artifact_files import find_file, keep_file, read_file, record_file
from tests.doubles.factories import make_org
from tests.doubles.inline_worker import run_job
from tests.doubles.stored_artifacts import files_in, store_artifact

FACTS = ArtifactFacts(kind="plan", name="plan.csv", media_type="text/csv")


class MakePlan(Payload, job_type="test_artifact_files.make_plan"):
    """Whether the job fails at its end."""

    fails: bool = False


@job(queue=Queue.EXPORTS)
def make_plan(ctx: JobContext, payload: MakePlan) -> Outcome:
    """Make a file in two pieces."""
    made = keep_file(ctx, FACTS, iter([b"a;b\r\n", b"1;2\r\n"]))

    def write(tx: Transaction) -> None:
        record_file(tx, ctx.org_id, made)
        if payload.fails:
            raise RuntimeError("died between bytes and row")

    return Done({"artifact_id": str(made.artifact_id)}, writes=write)


register(make_plan)


class ReadPlan(Payload, job_type="test_artifact_files.read_plan"):
    """Which file to read."""

    artifact_id: UUID


@job(queue=Queue.EXPORTS)
def read_plan(ctx: JobContext, payload: ReadPlan) -> Outcome:
    """Read it."""
    return Done({"text": read_file(ctx, find_file(ctx, payload.artifact_id, "artifact_id")).decode()})


register(read_plan)


def run(process: Runtime, job_type: Job[Any], org_id: UUID, payload: Payload) -> tuple[str, UUID]:
    with process.database.ledger() as tx:
        (made,) = enqueue(tx, payload, org_id=org_id)
    return run_job(process, job_type, made.job_id), made.job_id


@pytest.fixture(autouse=True)
def known(process: Runtime) -> None:
    assert process.database is not None
    publish_catalogue()


def bytes_kept(tmp_path: Path) -> list[bytes]:
    return [one.read_bytes() for one in files_in(tmp_path / "artifacts")]


def test_a_job_keeps_a_file_with_its_own_end(process: Runtime, org: UUID, database: Connection, tmp_path: Path) -> None:
    end, job_id = run(process, make_plan, org, MakePlan())
    assert end == "succeeded"
    row = database.execute("select name, kind, media_type, size, state, job_id, org_id from artifacts").fetchone()
    assert row == ("plan.csv", "plan", "text/csv", 10, "ready", job_id, org)
    assert bytes_kept(tmp_path) == [b"a;b\r\n1;2\r\n"]


def test_a_job_that_dies_between_bytes_and_row_leaves_no_artifact(
    process: Runtime, org: UUID, database: Connection, tmp_path: Path
) -> None:
    end, _ = run(process, make_plan, org, MakePlan(fails=True))
    assert end != "succeeded"
    assert database.execute("select count(*) from artifacts").fetchone() == (0,)
    assert bytes_kept(tmp_path) == [b"a;b\r\n1;2\r\n"]


def test_a_job_reads_what_was_stored(process: Runtime, org: UUID, database: Connection) -> None:
    with process.database.ledger() as tx:
        kept = store_artifact(tx, process.settings, org, "Grüße".encode())
    end, job_id = run(process, read_plan, org, ReadPlan(artifact_id=kept.artifact_id))
    assert end == "succeeded"
    assert database.execute("select output ->> 'text' from jobs where id = %s", (job_id,)).fetchone() == ("Grüße",)


@pytest.mark.parametrize("what", ["missing", "another org's", "deleted", "expired", "altered"])
def test_a_file_that_is_not_what_was_stored_is_not_read(
    what: str, process: Runtime, org: UUID, database: Connection, tmp_path: Path
) -> None:
    owner = make_org(database, "another") if what == "another org's" else org
    with process.database.ledger() as tx:
        kept = store_artifact(tx, process.settings, owner)
        if what == "deleted":
            artifacts.delete(tx, kept.artifact_id)
    if what == "expired":
        database.execute("update artifacts set expires_at = now()")
    file = tmp_path / "artifacts" / place_of(owner, kept.artifact_id)
    if what == "altered":
        file.write_bytes(b"some bytez")
    asked = uuid4() if what == "missing" else kept.artifact_id
    _, job_id = run(process, read_plan, org, ReadPlan(artifact_id=asked))
    row = database.execute("select state, error ->> 'code' from jobs where id = %s", (job_id,)).fetchone()
    code = "artifacts.altered" if what == "altered" else "gone"
    assert row is not None
    assert (row[0] in {"failed", "dead"}, row[1]) == (True, code)

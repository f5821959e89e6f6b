"""Files of a service's mail: by both vendors they arrive as they were stored, or the mail says why not."""

from collections.abc import Callable
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from psycopg import Connection

from domain.email.sender import EmailProvider
from engine.runtime import Runtime
from sandbox.emulator.fault_order import FaultOrder
from sandbox.microsoft.control import MicrosoftControl
from sandbox.resend.control import ResendControl
from storage import artifacts
from storage.artifacts import StoredArtifact
from tasks import email
from tests.doubles.email_orders import MAILBOX, order, set_sender
from tests.doubles.factories import make_org, pass_time
from tests.doubles.inline_worker import run_job
from tests.doubles.stored_artifacts import store_artifact

Arrived = Callable[[], list[bytes]]
LARGE = bytes(range(256)) * 1_000
"""More than a payload could carry."""


def kept(process: Runtime, org_id: UUID, data: bytes = LARGE, name: str = "Übersicht.pdf") -> StoredArtifact:
    with process.database.ledger() as tx:
        return store_artifact(tx, process.settings, org_id, data, name=name, media_type="application/pdf")


def files(raws: list[bytes]) -> list[tuple[Any, ...]]:
    (mail,) = (message_from_bytes(raw, policy=policy.default) for raw in raws)
    return [
        (one.get_filename(), one.get_content_type(), one.get_payload(decode=True)) for one in mail.iter_attachments()
    ]


@pytest.fixture
def arrived(resend: ResendControl, microsoft: MicrosoftControl) -> Arrived:
    def raws() -> list[bytes]:
        found = [resend.raw(one["id"]) for one in resend.emails()]
        return found + [microsoft.raw(MAILBOX, one["id"]) for one in microsoft.sent(MAILBOX)]

    return raws


@pytest.mark.parametrize("provider", EmailProvider)
def test_files_arrive_as_they_were_stored(
    provider: EmailProvider, process: Runtime, org: UUID, arrived: Arrived
) -> None:
    set_sender(process, org, provider)
    first, second = kept(process, org), kept(process, org, b"two words\n", "note.txt")
    asked = [str(first.artifact_id), {"artifact_id": str(second.artifact_id), "filename": "read me.txt"}]
    _, job_id = order(process, org, attachments=asked)
    assert run_job(process, email.send, job_id) == "succeeded"
    assert files(arrived()) == [
        ("Übersicht.pdf", "application/pdf", LARGE),
        ("read me.txt", "application/pdf", b"two words\n"),
    ]


@pytest.mark.parametrize("what", ["deleted", "another org's", "altered", "too large together"])
def test_a_file_that_cannot_be_sent_ends_the_mail_with_its_field(
    what: str,
    process: Runtime,
    org: UUID,
    database: Connection,
    arrived: Arrived,
    tmp_path: Path,
) -> None:
    set_sender(process, org, EmailProvider.RESEND)
    file = kept(process, make_org(database, "another") if what == "another org's" else org)
    with process.database.ledger() as tx:
        if what == "deleted":
            artifacts.delete(tx, file.artifact_id)
    if what == "altered":
        (tmp_path / "artifacts" / file.place).write_bytes(LARGE[::-1])
    if what == "too large together":
        database.execute("update artifacts set size = 18000001")
    _, job_id = order(process, org, attachments=[str(file.artifact_id)])
    run_job(process, email.send, job_id)
    row = database.execute("select state, error ->> 'code', error ->> 'reason' from email_orders").fetchone()
    assert row is not None
    assert row[:2] == {
        "altered": ("failed", "artifacts.altered"),
        "too large together": ("dead", "invalid"),
    }.get(what, ("failed", "gone"))
    assert "artifact" in row[2] or "email.attachments" in row[2]
    assert arrived() == []


def test_a_mail_whose_answer_was_lost_is_found_without_its_file(
    process: Runtime, org: UUID, database: Connection, microsoft: MicrosoftControl, arrived: Arrived
) -> None:
    set_sender(process, org, EmailProvider.GRAPH)
    file = kept(process, org)
    _, job_id = order(process, org, attachments=[str(file.artifact_id)])
    microsoft.order(FaultOrder(operation="messages.send", drop="after"))
    assert run_job(process, email.send, job_id) != "succeeded"
    with process.database.ledger() as tx:
        artifacts.delete(tx, file.artifact_id)
    row = database.execute("select run_at - now() from jobs where id = %s", (job_id,)).fetchone()
    assert row is not None
    pass_time(database, row[0])
    assert run_job(process, email.send, job_id) == "succeeded"
    assert len(arrived()) == 1

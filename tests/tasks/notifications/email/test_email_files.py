"""Files of a service's mail: by both vendors they arrive as they were stored, or the mail says why not."""

from collections.abc import Callable
from datetime import timedelta
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.retry import ENGINE
from domain.notifications.sender import EmailProvider
from domain.planning.files.artifacts import STORE
from engine.runtime import Runtime
from engine.worker.lease import renew
from providers.microsoft.graph_drafts import LARGEST_REQUEST
from sandbox.emulator.fault_order import FaultOrder
from sandbox.microsoft.control import MicrosoftControl
from sandbox.resend.control import ResendControl
from storage.jobs import gates
from storage.planning import artifacts
from storage.planning.artifacts import StoredArtifact
from tasks.notifications import email
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


@pytest.mark.parametrize(
    ("provider", "operation"),
    [
        (EmailProvider.RESEND, "emails.send"),
        (EmailProvider.GRAPH, "messages.create"),
        (EmailProvider.GRAPH, "messages.send"),
    ],
)
def test_a_mail_whose_answer_was_lost_needs_its_file_no_more(
    provider: EmailProvider,
    operation: str,
    process: Runtime,
    org: UUID,
    database: Connection,
    resend: ResendControl,
    microsoft: MicrosoftControl,
    arrived: Arrived,
) -> None:
    job_id, file = begun(process, org, provider)
    (resend if provider is EmailProvider.RESEND else microsoft).order(FaultOrder(operation=operation, drop="after"))
    assert run_job(process, email.send, job_id) == "queued"
    delete(process, database, file)
    assert run_job(process, email.send, job_id) == "succeeded"
    assert files(arrived()) == [("Übersicht.pdf", "application/pdf", LARGE)]
    assert effects_of(database) == {"succeeded"}


def test_a_draft_that_lacks_a_deleted_file_is_no_mail(
    process: Runtime, org: UUID, database: Connection, microsoft: MicrosoftControl, arrived: Arrived
) -> None:
    """Nobody can complete it, and it was never sent: the order says so, and no effect stays in doubt."""
    job_id, file = begun(process, org, EmailProvider.GRAPH, bytes(LARGEST_REQUEST))
    microsoft.order(FaultOrder(operation="uploads.put", drop="before"))
    assert run_job(process, email.send, job_id) == "queued"
    delete(process, database, file)
    assert run_job(process, email.send, job_id) == "failed"
    assert database.execute("select state, error ->> 'code' from email_orders").fetchall() == [("failed", "gone")]
    assert effects_of(database) == {"failed"}
    assert arrived() == []


@pytest.mark.parametrize("provider", EmailProvider)
def test_a_mail_waits_for_a_store_that_is_away_and_one_without_files_does_not(
    provider: EmailProvider, process: Runtime, org: UUID, database: Connection, arrived: Arrived, tmp_path: Path
) -> None:
    """A volume that is not mounted: no attempt is used, and no gate of the provider's closes."""
    job_id, _ = begun(process, org, provider)
    folder = tmp_path / "artifacts"
    folder.rename(tmp_path / "elsewhere")
    for _ in range(2 * ENGINE.attempts):
        assert run_job(process, email.send, job_id) == "queued"
        with process.database.ledger() as tx:
            assert [(gate.scope, gate.key) for gate in gates.closed(tx)] == [("provider", STORE)]
        pass_time(database, timedelta(minutes=2))
        renew(process)
    assert run_job(process, email.send, order(process, org)[1]) == "succeeded"
    assert len(arrived()) == 1
    assert not folder.exists()
    (tmp_path / "elsewhere").rename(folder)
    assert run_job(process, email.send, job_id) == "succeeded"
    assert len(arrived()) == 2
    assert database.execute("select attempt from jobs where id = %s", (job_id,)).fetchone() == (1,)


@pytest.mark.parametrize("comes_back", [True, False])
@pytest.mark.parametrize("provider", EmailProvider)
def test_a_file_that_is_lost_from_the_store_is_looked_for_again_before_the_mail_dies(
    provider: EmailProvider,
    comes_back: bool,
    process: Runtime,
    org: UUID,
    database: Connection,
    arrived: Arrived,
    tmp_path: Path,
) -> None:
    job_id, file = begun(process, org, provider)
    lost = tmp_path / "artifacts" / file.place
    lost.rename(tmp_path / "lost")
    for attempt in range(1, ENGINE.attempts):
        assert run_job(process, email.send, job_id) == "queued", attempt
        pass_time(database, timedelta(hours=1))
        renew(process)
    if comes_back:
        (tmp_path / "lost").rename(lost)
    assert run_job(process, email.send, job_id) == ("succeeded" if comes_back else "dead")
    assert len(arrived()) == int(comes_back)
    letters = database.execute("select reason, error ->> 'reason' from dead_letters").fetchall()
    assert [code for code, _ in letters] == [] if comes_back else ["artifacts.nothing_there"]
    assert all(str(file.artifact_id) in reason for _, reason in letters)


def begun(process: Runtime, org: UUID, provider: EmailProvider, data: bytes = LARGE) -> tuple[UUID, StoredArtifact]:
    """The job of a mail with a file, and the file."""
    set_sender(process, org, provider)
    file = kept(process, org, data)
    _, job_id = order(process, org, attachments=[str(file.artifact_id)])
    return job_id, file


def delete(process: Runtime, database: Connection, file: StoredArtifact) -> None:
    """Delete a mail's file, and let the time pass until the next attempt may find out about the call in doubt."""
    with process.database.ledger() as tx:
        artifacts.delete(tx, file.artifact_id)
    pass_time(database, timedelta(minutes=2))
    renew(process)


def effects_of(database: Connection) -> set[str]:
    return {status for (status,) in database.execute("select status from idempotency_keys where kind = 'effect'")}

"""Mail by an org's sender: once each, by both vendors, whatever is lost; and what the audit log says of it."""

from datetime import timedelta
from email import message_from_bytes, policy
from typing import Any
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.job import Origin
from domain.notifications.sender import EmailProvider
from domain.payloads.maintenance import ResolveEffectPayload
from engine.enqueue import enqueue
from engine.runtime import Runtime
from engine.worker.lease import renew
from operations.jobs import replays
from operations.jobs.replays import Ruling
from sandbox.emulator.fault_order import FaultOrder
from sandbox.microsoft.control import MicrosoftControl
from sandbox.resend.control import ResendControl
from storage.jobs import ledger
from tasks.jobs import maintenance
from tasks.notifications import email
from tests.doubles.email_orders import MAILBOX, order, set_sender
from tests.doubles.factories import pass_time
from tests.doubles.inline_worker import run_job

BOTH = list(EmailProvider)


class Vendors:
    """Both emulators as one outside world: what arrives, whoever sent it."""

    def __init__(self, resend: ResendControl, microsoft: MicrosoftControl) -> None:
        self.resend, self.microsoft = resend, microsoft

    def arrived(self) -> list[Any]:
        """Every mail that left, parsed."""
        raws = [self.resend.raw(one["id"]) for one in self.resend.emails()]
        raws += [self.microsoft.raw(MAILBOX, one["id"]) for one in self.microsoft.sent(MAILBOX)]
        return [message_from_bytes(raw, policy=policy.default) for raw in raws]


@pytest.fixture
def vendors(resend: ResendControl, microsoft: MicrosoftControl) -> Vendors:
    return Vendors(resend, microsoft)


def run(process: Runtime, job_id: UUID) -> str:
    return run_job(process, email.send, job_id)


def events(database: Connection, name: str) -> list[dict[str, Any]]:
    return [row[0] for row in database.execute("select data from audit_entries where event = %s", (name,)).fetchall()]


@pytest.mark.parametrize("provider", BOTH)
def test_a_mail_is_sent_and_audited_without_addresses(
    provider: EmailProvider, process: Runtime, org: UUID, vendors: Vendors, database: Connection
) -> None:
    set_sender(process, org, provider)
    order_id, job_id = order(
        process,
        org,
        cc="Bob <bob@example.net>",
        bcc=["carl@example.net"],
        subject="Grüße, and a password=hunter2hunter2",
        html="<p>It is <b>on its way</b>.</p>",
        headers={"auto-submitted": "auto-generated"},
        reference="ticket-7",
    )
    assert run(process, job_id) == "succeeded"
    (mail,) = vendors.arrived()
    assert (mail["subject"], mail["from"].addresses[0].addr_spec) == (
        "Grüße, and a password=hunter2hunter2", "desk@example.com",
    )  # fmt: skip
    assert mail["auto-submitted"] == "auto-generated"
    assert "on its way" in mail.get_body(("plain",)).get_content()
    (event,) = events(database, "email.sent")
    assert (event["order_id"], event["provider"], event["recipients"]) == (str(order_id), provider.value, 3)
    assert not [name for name in ("ada", "bob", "carl") if name in str(event).lower()]
    stored = database.execute("select state, provider, provider_id, error from email_orders").fetchone()
    assert stored == ("sent", provider.value, event["provider_id"], None)
    output = database.execute("select output from jobs where id = %s", (job_id,)).fetchone()
    assert output is not None
    assert output[0]["provider_id"] == event["provider_id"]


LOST = [
    pytest.param(EmailProvider.RESEND, FaultOrder(operation="emails.send", drop="after"), id="resend, answer lost"),
    pytest.param(
        EmailProvider.RESEND, FaultOrder(operation="emails.send", status=504, after_execution=True), id="resend, 504"
    ),
    pytest.param(EmailProvider.RESEND, FaultOrder(operation="emails.send", drop="before"), id="resend, never there"),
    pytest.param(
        EmailProvider.GRAPH, FaultOrder(operation="messages.create", drop="after"), id="graph, draft's answer lost"
    ),
    pytest.param(EmailProvider.GRAPH, FaultOrder(operation="messages.create", drop="before"), id="graph, no draft"),
    pytest.param(EmailProvider.GRAPH, FaultOrder(operation="messages.send", drop="after"), id="graph, answer lost"),
    pytest.param(
        EmailProvider.GRAPH, FaultOrder(operation="messages.send", status=504, after_execution=True), id="graph, 504"
    ),
    pytest.param(EmailProvider.GRAPH, FaultOrder(operation="messages.send", drop="before"), id="graph, never there"),
]


def let_time_pass(process: Runtime, database: Connection, span: timedelta) -> None:
    pass_time(database, span)
    renew(process)


@pytest.mark.parametrize(("provider", "fault"), LOST)
def test_after_a_lost_answer_the_mail_leaves_once(
    provider: EmailProvider, fault: FaultOrder, process: Runtime, org: UUID, vendors: Vendors, database: Connection
) -> None:
    set_sender(process, org, provider)
    _, job_id = order(process, org)
    (vendors.resend if provider is EmailProvider.RESEND else vendors.microsoft).order(fault)
    assert run(process, job_id) == "queued"
    let_time_pass(process, database, timedelta(minutes=2))
    assert run(process, job_id) == "succeeded"
    assert len(vendors.arrived()) == 1
    assert len(events(database, "email.sent")) == 1


@pytest.mark.parametrize("ids_change", [True, False])
def test_a_mail_that_is_late_in_sent_items_is_waited_for(
    ids_change: bool, process: Runtime, org: UUID, vendors: Vendors, database: Connection
) -> None:
    set_sender(process, org, EmailProvider.GRAPH)
    vendors.microsoft.turn(MAILBOX, sent_after_s=90, ids_change=ids_change)
    vendors.microsoft.order(FaultOrder(operation="messages.send", drop="after"))
    _, job_id = order(process, org)
    assert run(process, job_id) == "queued"
    let_time_pass(process, database, timedelta(minutes=1))
    assert run(process, job_id) == "queued"
    assert database.execute("select attempt from jobs").fetchone() == (1,), "waiting costs no attempt"
    vendors.microsoft.advance_clock(90)
    let_time_pass(process, database, timedelta(minutes=1))
    assert run(process, job_id) == "succeeded"
    assert len(vendors.arrived()) == 1


def send_what_nobody_finds(process: Runtime, org: UUID, vendors: Vendors, database: Connection) -> tuple[UUID, UUID]:
    set_sender(process, org, EmailProvider.GRAPH)
    vendors.microsoft.turn(MAILBOX, sent_after_s=3600)
    vendors.microsoft.order(FaultOrder(operation="messages.send", drop="after"))
    order_id, job_id = order(process, org)
    assert run(process, job_id) == "queued"
    # What is kept of the call says when it began.
    began = "convert_to(jsonb_build_object('at', now() - interval '6 minutes')::text, 'UTF8')"
    database.execute(f"update idempotency_keys set request = {began} where key like 'email-send:%'")
    let_time_pass(process, database, timedelta(minutes=6))
    assert run(process, job_id) == "dead"
    return order_id, job_id


def test_a_mail_that_nobody_can_find_is_a_person_s(
    process: Runtime, org: UUID, vendors: Vendors, database: Connection
) -> None:
    send_what_nobody_finds(process, org, vendors, database)
    assert database.execute("select state, error ->> 'code' from email_orders").fetchone() == ("dead", "uncertain")
    assert len(vendors.arrived()) == 1


def test_a_mail_that_a_person_has_found_is_sent_under_the_id_of_its_draft(
    process: Runtime, org: UUID, vendors: Vendors, database: Connection
) -> None:
    """They say that it left, and not as what."""
    order_id, job_id = send_what_nobody_finds(process, org, vendors, database)
    ruled = {f"email-send:{order_id}": Ruling(happened=True)}
    with process.database.ledger() as tx:
        again = replays.retry(tx, job_id, by=Origin(actor_id="a test"), reason="it left", rulings=ruled)
    assert run(process, again) == "succeeded"
    query = "select state, provider_id = draft_id, message_id = draft_message_id from email_orders"
    assert database.execute(query).fetchone() == ("sent", True, True)
    assert len(vendors.arrived()) == 1


def test_a_key_that_resend_has_forgotten_is_not_used_again(
    process: Runtime, org: UUID, vendors: Vendors, database: Connection
) -> None:
    """A key recycled after 23 hours behind a gate: the mail may have left, and a second call would send another."""
    set_sender(process, org, EmailProvider.RESEND)
    vendors.resend.order(FaultOrder(operation="emails.send", drop="after"))
    _, job_id = order(process, org)
    assert run(process, job_id) == "queued"
    let_time_pass(process, database, timedelta(hours=23, minutes=1))
    vendors.resend.advance_clock(24 * 3600)
    assert run(process, job_id) == "dead"
    assert len(vendors.arrived()) == 1


@pytest.mark.parametrize("changed", ["provider", "from"])
def test_a_mail_in_doubt_never_leaves_by_another_sender(
    changed: str, process: Runtime, org: UUID, vendors: Vendors, database: Connection
) -> None:
    set_sender(process, org, EmailProvider.RESEND)
    vendors.resend.order(FaultOrder(operation="emails.send", drop="after"))
    _, job_id = order(process, org)
    assert run(process, job_id) == "queued"
    if changed == "provider":
        set_sender(process, org, EmailProvider.GRAPH)
    else:
        database.execute("update email_senders set from_address = 'other@example.com'")
    let_time_pass(process, database, timedelta(minutes=2))
    assert run(process, job_id) == "dead"
    assert len(vendors.arrived()) == 1


def test_a_mail_that_certainly_has_not_left_goes_by_the_new_sender(
    process: Runtime, org: UUID, vendors: Vendors
) -> None:
    set_sender(process, org, EmailProvider.GRAPH)
    vendors.microsoft.order(FaultOrder(operation="messages.send", status=403, reason="ErrorAccessDenied"))
    _, job_id = order(process, org)
    assert run(process, job_id) == "queued"
    assert len(vendors.microsoft.drafts(MAILBOX)) == 1
    set_sender(process, org, EmailProvider.RESEND)
    assert run(process, job_id) == "succeeded"
    assert (len(vendors.resend.emails()), vendors.microsoft.sent(MAILBOX)) == (1, [])


def test_a_request_that_the_provider_refuses_fails_by_its_word(
    process: Runtime, org: UUID, vendors: Vendors, database: Connection
) -> None:
    set_sender(process, org, EmailProvider.RESEND)
    vendors.resend.order(FaultOrder(operation="emails.send", status=422, reason="validation_error"))
    _, job_id = order(process, org)
    assert run(process, job_id) == "failed"
    assert database.execute("select state, error ->> 'code' from email_orders").fetchone() == (
        "failed", "resend.validation_error",
    )  # fmt: skip
    assert vendors.arrived() == []


def test_a_mail_is_tried_as_often_as_its_service_says(
    process: Runtime, org: UUID, vendors: Vendors, database: Connection
) -> None:
    """JOB_EXHAUSTED_RETRIES of the source document: the job's dead letter, and its order says so, too."""
    set_sender(process, org, EmailProvider.RESEND)
    vendors.resend.order(FaultOrder(operation="emails.send", drop="before", times=None))
    order_id, job_id = order(process, org)
    ends = []
    for _ in range(4):
        ends.append(run(process, job_id))
        let_time_pass(process, database, timedelta(minutes=20))
    assert ends == ["queued", "queued", "queued", "dead"]
    assert len(events(database, "job.deadlettered")) == 1
    assert database.execute("select id, state from email_orders").fetchone() == (order_id, "dead")
    waits = database.execute(
        "select (data ->> 'run_at')::timestamptz - at from audit_entries where event = 'job.retried' order by id"
    ).fetchall()
    assert [round(row[0].total_seconds() * 2 / 1.1 / 10) for row in waits] == [1, 2, 4], "10 s, doubled each time"


@pytest.mark.parametrize("seen", ["sent", "not sent"])
def test_a_mail_whose_job_was_canceled_in_the_call_is_asked_about(
    seen: str, process: Runtime, org: UUID, vendors: Vendors, database: Connection
) -> None:
    """The job has ended, and nobody works on the doubt any more: another job asks Graph and the order says so."""
    set_sender(process, org, EmailProvider.GRAPH)
    vendors.microsoft.order(FaultOrder(operation="messages.send", drop="after" if seen == "sent" else "before"))
    _, job_id = order(process, org)
    assert run(process, job_id) == "queued"
    let_time_pass(process, database, timedelta(minutes=2))
    with process.database.ledger() as tx:
        ledger.cancel(tx, [job_id], "not wanted any more", by=Origin())
    assert database.execute("select state from email_orders").fetchone() == ("canceled",)
    key = f"email-send:{database.execute('select id from email_orders').fetchall()[0][0]}"
    with process.database.ledger() as tx:
        asking = ResolveEffectPayload(key=key)
        (made,) = enqueue(tx, asking, org_id=org)
    assert run_job(process, maintenance.resolve_effect, made.job_id) == "succeeded"
    found = database.execute("select state from email_orders").fetchone()
    assert found == (("sent" if seen == "sent" else "canceled"),)
    assert len(events(database, "email.sent")) == len(vendors.arrived()) == int(seen == "sent")

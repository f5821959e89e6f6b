"""An org without a sender, and one whose key is revoked: its mail waits, its owner hears once, nothing is lost."""

from datetime import timedelta
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.job import Origin
from domain.notifications.sender import EmailProvider
from engine.runtime import Runtime
from operations.notifications.senders import check_sender
from sandbox.emulator.fault_order import FaultOrder
from sandbox.microsoft.control import MicrosoftControl
from sandbox.resend.control import ResendControl
from storage.notifications.email import senders
from storage.orgs.secrets import org_credentials, org_secrets
from storage.orgs.secrets.sealing import SecretPlace
from tasks.notifications import email
from tests.doubles.calls import call_by
from tests.doubles.email_orders import MAILBOX, order, set_sender
from tests.doubles.factories import make_org, pass_time
from tests.doubles.inline_worker import run_job

GATES = "select scope, key, cause, until from gates where until is null or until > now() order by key"
PARKED = "select count(*) from jobs where job_type = 'email.send' and state = 'queued'"


def run(process: Runtime, job_id: UUID) -> str:
    return run_job(process, email.send, job_id)


def alerts(database: Connection) -> list[tuple[str, str]]:
    found = "select payload ->> 'subject', payload ->> 'detail' from jobs where job_type = %s order by id"
    return database.execute(found, ("deadletter.send_alert",)).fetchall()


def refuse(provider: EmailProvider, resend: ResendControl, microsoft: MicrosoftControl) -> None:
    """Let the vendor refuse the credentials that `set_sender` has set."""
    if provider is EmailProvider.RESEND:
        resend.revoke("re_Abcdefgh_of_an_org")
    else:
        microsoft.revoke("an-application")


GOOD_AGAIN = {
    EmailProvider.RESEND: "re_Ijklmnop_of_an_org",
    EmailProvider.GRAPH: '{"tenant_id": "t.example.com", "client_id": "another-application", "client_secret": "x"}',
}


@pytest.mark.parametrize("provider", list(EmailProvider))
def test_mail_waits_for_new_credentials_and_the_owner_hears_once(
    provider: EmailProvider,
    process: Runtime,
    org: UUID,
    database: Connection,
    resend: ResendControl,
    microsoft: MicrosoftControl,
) -> None:
    set_sender(process, org, provider)
    refuse(provider, resend, microsoft)
    jobs = [order(process, org)[1] for _ in range(3)]
    assert run(process, jobs[0]) == "queued"
    assert [run(process, one) for one in jobs] == ["not_claimed"] * 3, "the gate keeps all of them back"
    assert database.execute(GATES).fetchall() == [("org_provider", f"{org}:{provider.value}", "consent", None)]
    assert [subject for subject, _ in alerts(database)] == [f"{provider.value} of org {org}"]
    assert database.execute("select count(*) from audit_entries where event = 'credentials.lost'").fetchone() == (1,)
    checked = check_sender(call_by("operator:ada", process.database, org_id=org))
    assert (checked.waiting, checked.refused_at is None) == (3, False)
    assert "refuses" in (checked.problem or "")
    set_sender(process, org, provider, GOOD_AGAIN[provider])
    assert [run(process, one) for one in jobs] == ["succeeded"] * 3
    assert database.execute("select max(attempt) from jobs where job_type = 'email.send'").fetchone() == (1,)
    assert len(alerts(database)) == 1
    assert len(resend.emails()) + len(microsoft.sent(MAILBOX)) == 3


def test_each_loss_is_told_anew(process: Runtime, org: UUID, database: Connection, resend: ResendControl) -> None:
    for number in (1, 2):
        set_sender(process, org, EmailProvider.RESEND)
        resend.revoke("re_Abcdefgh_of_an_org")
        assert run(process, order(process, org)[1]) == "queued"
        assert len(alerts(database)) == number


def test_an_org_without_a_sender_waits_for_one(
    process: Runtime, org: UUID, database: Connection, resend: ResendControl
) -> None:
    jobs = [order(process, org)[1] for _ in range(2)]
    assert [run(process, one) for one in jobs] == ["queued", "not_claimed"]
    assert database.execute(GATES).fetchall() == [("org_provider", f"{org}:email", "consent", None)]
    assert [detail for _, detail in alerts(database)] == ["email.no_sender"]
    checked = check_sender(call_by("operator:ada", process.database, org_id=org))
    assert (checked.provider, checked.waiting, checked.problem) == (None, 2, "the org has no sender: set one")
    set_sender(process, org, EmailProvider.RESEND)
    assert [run(process, one) for one in jobs] == ["succeeded"] * 2
    assert len(resend.emails()) == 2


@pytest.mark.parametrize(
    ("provider", "secret", "code"),
    [
        (EmailProvider.GRAPH, "no JSON", "credentials.unreadable"),
        (
            EmailProvider.GRAPH,
            '{"tenant_id": "common", "client_id": "a", "client_secret": "b"}',
            "credentials.unreadable",
        ),
        (EmailProvider.RESEND, "a key of two lines\n", "credentials.unreadable"),
        (EmailProvider.RESEND, None, "credentials.no_secret"),
    ],
)
def test_a_secret_that_is_none_is_as_one_that_is_refused(
    provider: EmailProvider, secret: str | None, code: str, process: Runtime, org: UUID, database: Connection
) -> None:
    set_sender(process, org, provider, secret)
    if secret is None:
        with process.database.ledger() as tx:
            org_secrets.remove(tx, SecretPlace(org, provider.value), by=Origin())
    assert run(process, order(process, org)[1]) == "queued"
    assert [detail for _, detail in alerts(database)] == [code]
    set_sender(process, org, EmailProvider.RESEND)
    assert database.execute(GATES).fetchall() == []


def test_another_org_s_mail_goes_on(process: Runtime, org: UUID, database: Connection, resend: ResendControl) -> None:
    """A key, and so a quota, is an org's: neither a refusal nor a spent day stops anybody else."""
    other = make_org(database, "another")
    set_sender(process, other, EmailProvider.RESEND, GOOD_AGAIN[EmailProvider.RESEND])
    set_sender(process, org, EmailProvider.RESEND)
    resend.revoke("re_Abcdefgh_of_an_org")
    assert run(process, order(process, org)[1]) == "queued"
    assert run(process, order(process, other)[1]) == "succeeded"
    resend.revoke()
    set_sender(process, org, EmailProvider.RESEND)
    resend.order(FaultOrder(operation="emails.send", status=429, reason="daily_quota_exceeded"))
    spent = order(process, org)[1]
    assert run(process, spent) == "queued"
    ((scope, key, cause, until),) = database.execute(GATES).fetchall()
    assert (scope, key, cause) == ("org_provider", f"{org}:resend", "slow_down")
    assert until is not None
    assert run(process, order(process, org)[1]) == "not_claimed"
    assert run(process, order(process, other)[1]) == "succeeded"


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("MailboxNotEnabledForRESTAPI", 404),
        ("ErrorAccountDisabled", 403),
        ("ErrorExceededMessageLimit", 403),
    ],
)
def test_a_mailbox_that_takes_no_mail_parks_its_sender_and_is_an_alert_a_day(
    process: Runtime, org: UUID, database: Connection, microsoft: MicrosoftControl, word: str, status: int
) -> None:
    set_sender(process, org, EmailProvider.GRAPH)
    microsoft.order(FaultOrder(operation="messages.create", status=status, reason=word, times=2))
    jobs = [order(process, org)[1] for _ in range(3)]
    assert [run(process, one) for one in jobs] == ["queued", "not_claimed", "not_claimed"]
    ((scope, key, cause, _),) = database.execute(GATES).fetchall()
    assert (scope, key, cause) == ("org_provider", f"{org}:graph", "slow_down")
    pass_time(database, timedelta(hours=1, minutes=1))
    assert run(process, jobs[0]) == "queued", "an hour later"
    assert alerts(database) == [(f"graph of org {org}", f"microsoft: status {status}, {word}")], "once"
    pass_time(database, timedelta(hours=2, minutes=1))
    assert [run(process, one) for one in jobs] == ["succeeded"] * 3


def test_a_refusal_of_credentials_that_were_replaced_meanwhile_closes_no_gate(
    process: Runtime, org: UUID, database: Connection
) -> None:
    """A job read the old ones; before it wrote what it had learned, somebody set others: nobody would open the gate."""
    set_sender(process, org, EmailProvider.RESEND)
    with process.database.tenant(org) as tx:
        old = senders.get(tx, org)
    set_sender(process, org, EmailProvider.RESEND)
    with process.database.tenant(org) as tx:
        assert not org_credentials.lose(tx, org, "resend", set_at=old.set_at, code="resend.revoked")
        assert org_credentials.find(tx, org, "resend").set_at != old.set_at
    key = f"{org}:resend"
    database.execute("select postroom.close_gate('org_provider', %s, 'consent', 'refused', null, 'a job')", (key,))
    assert database.execute(GATES).fetchall() == []

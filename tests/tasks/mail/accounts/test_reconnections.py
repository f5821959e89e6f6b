"""A mailbox that is disconnected and connected again while a job of the earlier connection runs or waits."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from pydantic import SecretStr

from domain.jobs.job import Origin
from domain.mail.triage.prompts import CLASSIFY_TOOL
from engine.context import JobContext
from engine.enqueue import enqueue_jobs
from storage.mail.accounts import connecting
from storage.mail.accounts.accounts import Consent
from storage.mail.accounts.connecting import AddedMailbox, OrgMailbox
from storage.mail.accounts.tokens import Refreshed, Tokens
from tasks.mail.steps import mailbox_session
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.meanwhile import Meanwhile
from tests.tasks.approvals.test_doubts import canceled_in_the_call, reconcile, status, told
from tests.tasks.mail.accounts.test_account_ends import connect, disconnect, know_owner, leave

NEXT = "next.owner@postroom.example"


def classify_job(env: MailEnvironment, *, minutes_left: int) -> UUID:
    """A message to classify, with an access token that lasts so long; another owner may connect the mailbox."""
    env.sync()
    env.gmail.create_account(NEXT, "access-2", "refresh-2")
    env.deliver("Lunch?", "Could you tell me whether noon on Friday suits you? Please reply.")
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    env.database.execute("update accounts set access_expires_at = now() + make_interval(mins => %s)", (minutes_left,))
    query = "select id from jobs where job_type = 'triage.classify' and state = 'queued'"
    ((job_id,),) = env.database.execute(query).fetchall()
    return UUID(str(job_id))


def hand_over(env: MailEnvironment) -> None:
    disconnect(env)
    ends_at = datetime.now(UTC) + timedelta(hours=1)
    connect(env, Consent(SecretStr("access-2"), SecretStr("refresh-2"), ends_at))


def test_a_running_job_does_not_get_the_next_owners_token(env: MailEnvironment, meanwhile: Meanwhile) -> None:
    """Within the five minutes in which a token is renewed early."""
    job_id = classify_job(env, minutes_left=4)
    meanwhile(CLASSIFY_TOOL, lambda: hand_over(env))
    before = len(env.gmail.journal())
    assert env.run(job_id) == "canceled"
    assert (len(env.gmail.journal()), env.gmail.journal(account=NEXT)) == (before, [])


def test_a_running_job_changes_nothing_in_a_mailbox_that_was_disconnected(
    env: MailEnvironment, meanwhile: Meanwhile
) -> None:
    """It holds a token that Google still takes."""
    job_id = classify_job(env, minutes_left=30)
    meanwhile(CLASSIFY_TOOL, lambda: hand_over(env))
    assert env.run(job_id) == "canceled"
    assert [call.path for call in env.gmail.journal() if call.operation.endswith(("modify", "drafts.create"))] == []
    assert env.gmail.journal(account=NEXT) == []


def test_a_job_that_refreshes_does_not_get_the_next_owners_token(
    env: MailEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id, really_ask = classify_job(env, minutes_left=4), mailbox_session._ask_google  # noqa: SLF001 - in its midst

    def ask_google(ctx: JobContext, held: Tokens) -> Refreshed:
        fresh = really_ask(ctx, held)
        hand_over(env)
        return fresh

    monkeypatch.setattr(mailbox_session, "_ask_google", ask_google)
    assert env.run(job_id) == "canceled"
    assert env.gmail.journal(account=NEXT) == []


def test_what_is_asked_for_while_a_connection_waits_is_of_the_connection_before(env: MailEnvironment) -> None:
    """The connecting transaction began earlier than that; the first jobs of its connection are its own."""
    know_owner(env)
    mailbox = OrgMailbox(env.account.org_id, env.account.email, NEXT)
    with env.process.database.ledger() as tx:
        tx.raw("select now()", {})
        earlier = env.enqueue("gmail.sync_labels")
        consent = leave(env)
        added = connecting.connect(tx, env.process.sealer, mailbox, consent, by=Origin())
        assert isinstance(added, AddedMailbox)
        onboard = enqueue_jobs(tx, added.first_jobs(Origin()))[1].job_id
    assert (env.run(earlier), env.run(onboard)) == ("canceled", "succeeded")


def test_a_job_that_refreshes_while_its_owner_leaves_is_canceled(
    env: MailEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends as any job of theirs, and parks nothing until somebody gives consent."""
    job_id, really_ask = classify_job(env, minutes_left=4), mailbox_session._ask_google  # noqa: SLF001 - in its midst

    def ask_google(ctx: JobContext, held: Tokens) -> Refreshed:
        fresh = really_ask(ctx, held)
        disconnect(env)
        return fresh

    monkeypatch.setattr(mailbox_session, "_ask_google", ask_google)
    assert (env.run(job_id), env.job(job_id)["cancel_reason"]) == ("canceled", "the account was disconnected")


@pytest.mark.parametrize("is_same", [True, False])
def test_a_question_about_a_closed_account_is_put_to_the_mailbox_where_its_user_has_it_again(
    env: MailEnvironment, *, is_same: bool
) -> None:
    """The draft is there. Who has the mailbox under another Google user is not asked, so a person is."""
    know_owner(env)
    job_id = canceled_in_the_call(env, drop="after")
    connect(env, replace(disconnect(env), subject="117" if is_same else "118"))
    for days in (1, 1, 8):
        reconcile(env, timedelta(days=days))
    assert (status(env, job_id)[0], told(env)) == (("succeeded", 0) if is_same else ("unknown", 1))

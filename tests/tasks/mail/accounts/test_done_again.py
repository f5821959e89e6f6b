"""What is retried or replayed after its mailbox was connected anew is done for the account that it names."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from domain.jobs.job import Origin
from domain.mail.actions.snooze import Snooze
from engine.enqueue import enqueue_jobs
from operations.jobs import replays
from operations.jobs.replays import Replacement
from storage.mail.accounts import connecting
from storage.mail.accounts.connecting import AddedMailbox, OrgMailbox
from tests.doubles.factories import make_org, pass_time
from tests.doubles.mail_actions import ask, labels, stored_letter
from tests.doubles.mail_environment import MailEnvironment
from tests.tasks.mail.accounts.test_account_ends import DISCONNECTED, connect, disconnect, know_owner

BY = Origin(actor_id="a test")


def dead(env: MailEnvironment) -> UUID:
    """A job of the mailbox that died."""
    env.fail("messages.list", times=None, status=500)
    job_id = env.enqueue("accounts.learn_voice")
    assert env.drain(only="accounts.%")[-1] == ("accounts.learn_voice", "dead")
    env.gmail.clear_faults()
    return job_id


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize(("status", "ending"), [(403, "failed"), (500, "dead")])
def test_a_job_of_a_closed_account_is_done_again_for_its_own_google_user_alone(
    env: MailEnvironment, status: int, ending: str, *, is_known: bool
) -> None:
    if is_known:
        know_owner(env)
    env.fail("messages.list", times=None, status=status, reason="domainPolicy")
    job_id = env.enqueue("accounts.learn_voice")
    assert env.drain(only="accounts.%")[-1] == ("accounts.learn_voice", ending)
    connect(env, disconnect(env))
    called = len(env.gmail.journal())
    with env.process.database.ledger() as tx:
        again = replays.retry(tx, job_id, by=BY, reason="it is mended")
    if is_known:
        env.gmail.clear_faults()
        assert env.run(again) == "succeeded"
        return
    assert (env.run(again), env.job(again)["cancel_reason"]) == ("canceled", DISCONNECTED)
    assert len(env.gmail.journal()) == called


@pytest.mark.parametrize("is_next", [False, True])
@pytest.mark.parametrize("spell", [str, lambda one: one.hex, lambda one: one.urn], ids=["text", "hex", "urn"])
def test_a_mended_payload_names_one_account_in_any_way(
    env: MailEnvironment, spell: Callable[[UUID], str], *, is_next: bool
) -> None:
    """The dead job has left; its letter is replayed."""
    job_id = dead(env)
    account = connect(env, disconnect(env)) if is_next else env.account
    if not is_next:
        connect(env, disconnect(env))
    env.database.execute("delete from jobs where id = %s", (job_id,))
    mended = Replacement({"account_id": spell(account.account_id)}, 1)
    with env.process.database.ledger() as tx:
        again = replays.replay(tx, job_id, by=BY, reason="it is mended", mended=mended)
    assert env.run(again) == ("succeeded" if is_next else "canceled")


def test_a_message_that_sleeps_is_brought_back_by_a_replay(env: MailEnvironment) -> None:
    know_owner(env)
    place = stored_letter(env)
    ask(env, place, Snooze(until=datetime.now(UTC) + timedelta(hours=1)))
    env.drain(only="actions.execute")
    ((job_id,),) = env.database.execute("select id from jobs where job_type = 'actions.unsnooze'").fetchall()
    env.fail("messages.get", times=None, status=500)
    pass_time(env.database, timedelta(hours=1))
    assert env.drain(only="actions.unsnooze")[-1] == ("actions.unsnooze", "dead")
    env.gmail.clear_faults()
    connect(env, disconnect(env))
    with env.process.database.ledger() as tx:
        again = replays.retry(tx, job_id, by=BY, reason="it is mended")
    assert env.run(again) == "succeeded"
    assert "INBOX" in labels(env, place)


@pytest.mark.parametrize("status", [403, 500])
@pytest.mark.parametrize("is_new", [False, True], ids=["connected again", "connected first"])
def test_an_onboarding_that_could_not_be_done_is_done_again(env: MailEnvironment, status: int, *, is_new: bool) -> None:
    org_id = make_org(env.database) if is_new else env.account.org_id
    mailbox, consent = OrgMailbox(org_id, env.account.email, "new.owner@postroom.example"), disconnect(env)
    with env.process.database.ledger() as tx:
        added = connecting.connect(tx, env.process.sealer, mailbox, consent, by=BY)
        assert isinstance(added, AddedMailbox)
        onboard = enqueue_jobs(tx, added.first_jobs(BY))[1].job_id
    for operation in ("labels.list", "watch"):
        env.fail(operation, times=None, status=status, reason="domainPolicy")
    env.drain(only="accounts.onboard")
    assert env.job(onboard)["state"] == ("failed" if status == 403 else "dead")
    env.gmail.clear_faults()
    with env.process.database.ledger() as tx:
        again = replays.retry(tx, onboard, by=BY, reason="it is mended")
    assert env.run(again) == "succeeded"

"""What is retried or replayed after its mailbox was connected anew: only what was made since, or is done for anyone."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from domain.jobs.failures import Conflict
from domain.jobs.job import Origin
from domain.mail.actions.snooze import Snooze
from engine.enqueue import enqueue_jobs
from storage.accounts import connecting
from storage.accounts.connecting import AddedMailbox, OrgMailbox
from storage.operators import replays, retries
from storage.operators.replays import Mended
from tests.doubles.factories import make_org, pass_time
from tests.doubles.mail_actions import ask, labels, stored_letter
from tests.doubles.mail_environment import MailEnvironment
from tests.tasks.test_account_ends import connect, disconnect

BY = Origin(actor_id="a test")


def dead(env: MailEnvironment) -> UUID:
    """A job of the mailbox that died."""
    env.fail("messages.list", times=None, status=500)
    job_id = env.enqueue("accounts.learn_voice")
    assert env.drain(only="accounts.%")[-1] == ("accounts.learn_voice", "dead")
    env.gmail.clear_faults()
    return job_id


@pytest.mark.parametrize(("status", "ending"), [(403, "failed"), (500, "dead")])
def test_a_job_from_before_a_disconnection_is_not_done_again_for_the_next_owner(
    env: MailEnvironment, status: int, ending: str
) -> None:
    env.fail("messages.list", times=None, status=status, reason="domainPolicy")
    job_id = env.enqueue("accounts.learn_voice")
    assert env.drain(only="accounts.%")[-1] == ("accounts.learn_voice", ending)
    connect(env, disconnect(env))
    with env.process.database.ledger() as tx, pytest.raises(Conflict, match="connected anew"):
        retries.retry(tx, job_id, by=BY, reason="it is mended")
    assert env.job(job_id)["state"] == ending
    now = env.enqueue("accounts.learn_voice")
    assert env.drain(only="accounts.%")[-1] == ("accounts.learn_voice", ending)
    with env.process.database.ledger() as tx:
        retries.retry(tx, now, by=BY, reason="it is mended")


@pytest.mark.parametrize("knows_when", [True, False])
def test_a_dead_letter_whose_job_has_left_is_as_old_as_the_job(env: MailEnvironment, *, knows_when: bool) -> None:
    """It died after the connection: its worker was gone, and the relay found out."""
    job_id = dead(env)
    connect(env, disconnect(env))
    env.database.execute("update dead_letters set created_at = now()")
    if not knows_when:
        env.database.execute("update dead_letters set history = '[]'")
    env.database.execute("delete from jobs where id = %s", (job_id,))
    with env.process.database.ledger() as tx, pytest.raises(Conflict, match="connected anew"):
        replays.replay(tx, job_id, by=BY, reason="it is mended")


def test_one_that_was_made_since_is_replayed(env: MailEnvironment) -> None:
    connect(env, disconnect(env))
    job_id = dead(env)
    env.database.execute("delete from jobs where id = %s", (job_id,))
    with env.process.database.ledger() as tx:
        again = replays.replay(tx, job_id, by=BY, reason="it is mended")
    assert env.run(again) == "succeeded"


@pytest.mark.parametrize("spell", [str, lambda one: one.hex, lambda one: one.urn], ids=["text", "hex", "urn"])
def test_a_mended_payload_names_the_account_in_any_way(env: MailEnvironment, spell: type[str]) -> None:
    job_id = dead(env)
    connect(env, disconnect(env))
    mended = Mended({"account_id": spell(env.account.account_id)}, 1)
    with env.process.database.ledger() as tx, pytest.raises(Conflict, match="connected anew"):
        replays.replay(tx, job_id, by=BY, reason="it is mended", mended=mended)


def test_a_message_that_sleeps_is_brought_back_by_a_replay(env: MailEnvironment) -> None:
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
        again = retries.retry(tx, job_id, by=BY, reason="it is mended")
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
        again = retries.retry(tx, onboard, by=BY, reason="it is mended")
    assert env.run(again) == "succeeded"

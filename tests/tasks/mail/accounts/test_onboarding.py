"""A connected mailbox is set up: each part once, whatever happens in between, and a failing part by its name."""

from datetime import timedelta
from uuid import UUID

import pytest

from domain.jobs.job import NewJob
from domain.payloads.accounts import first_jobs
from engine.enqueue import enqueue, enqueue_jobs
from storage.mail.accounts import accounts, tokens
from tests.doubles.factories import pass_time
from tests.doubles.mail_environment import MailEnvironment, connect
from tests.doubles.triggers import note_states, taken_states

LATER = timedelta(minutes=20)
ORDERED = {"gmail.backfill", "accounts.learn_voice"}


def ordered(env: MailEnvironment) -> list[str]:
    rows = env.database.execute(
        "select job_type from jobs where job_type in ('gmail.backfill', 'accounts.learn_voice') order by job_type"
    )
    return [row[0] for row in rows]


def test_everything_is_set_up_and_summed_up(env: MailEnvironment) -> None:
    job_id = env.enqueue("accounts.onboard")
    assert env.run(job_id) == "succeeded"
    output = env.job(job_id)["output"]
    assert output["output_preview"].startswith("owner@postroom.example is being set up. Labels: ")
    assert (len(output["output_preview"]) <= 500, output["labels"]["labels"] > 6) == (True, True)
    names = {label["name"] for label in env.mailbox.state().labels}
    assert {"Postroom/Outbox", "Postroom/Needs Response", "Postroom/Snoozed"} <= names
    assert env.count("select count(*) from accounts where watch_expires_at > now()") == 1
    assert set(ordered(env)) == ORDERED
    since = env.database.execute("select payload ->> 'since' from jobs where job_type = 'gmail.backfill'").fetchone()
    assert since is not None
    assert since[0].endswith("T00:00:00Z")
    assert {end for _, end in env.drain()}.isdisjoint({"failed", "dead", "not_claimed"})


def test_ac_18_email_processing_handler(env: MailEnvironment) -> None:
    """The connection may be named alone, and the job runs and succeeds (docs: seeds.md#003-45)."""
    with env.process.database.ledger() as tx:
        asked = {"connection_id": str(env.account.account_id)}
        job_id = enqueue_jobs(tx, [NewJob("email_processing", env.account.org_id, asked)])[0].job_id
    assert (env.job(job_id)["job_type"], env.job(job_id)["state"]) == ("accounts.onboard", "queued")
    note_states(env.database, "jobs")
    assert env.run(job_id) == "succeeded"
    assert taken_states(env.database) == ["claimed", "succeeded"]
    assert 0 < len(env.job(job_id)["output"]["output_preview"]) <= 500


def test_a_second_attempt_does_only_what_is_left(env: MailEnvironment) -> None:
    job_id = env.enqueue("accounts.onboard")
    env.fail("watch", status=503)
    assert env.run(job_id) == "queued"
    assert env.job(job_id)["error"]["reason"].startswith("watch: ")
    listed = len(env.gmail.journal("labels.list"))
    pass_time(env.database, LATER)
    assert env.run(job_id) == "succeeded"
    assert len(env.gmail.journal("labels.list")) == listed
    assert ordered(env) == sorted(ORDERED), "nothing is ordered twice"


def test_a_part_that_cannot_be_done_is_named_and_the_others_are_done(env: MailEnvironment) -> None:
    job_id = env.enqueue("accounts.onboard")
    env.fail("labels.list", status=403, reason="domainPolicy")
    assert env.run(job_id) == "failed"
    assert env.job(job_id)["error"]["reason"] == "labels: gmail.domainPolicy"
    assert env.job(job_id)["error"]["code"] == "onboarding.incomplete"
    assert env.count("select count(*) from accounts where watch_expires_at > now()") == 1
    assert set(ordered(env)) == ORDERED


def test_an_attempt_that_died_after_ordering_orders_nothing_twice(env: MailEnvironment) -> None:
    job_id = env.enqueue("accounts.onboard")
    env.fail("labels.list", status=503)
    env.run(job_id)
    env.database.execute("delete from job_steps where job_id = %s and name = 'orders'", (job_id,))
    env.drain(only="accounts.learn_voice")
    env.database.execute("update jobs set run_at = now() where id = %s", (job_id,))
    assert env.run(job_id) == "succeeded"
    assert ordered(env) == sorted(ORDERED)


def test_a_mailbox_whose_consent_is_gone_waits(env: MailEnvironment) -> None:
    env.mailbox.revoke()
    env.database.execute("update accounts set access_expires_at = now() + interval '1 minute'")
    job_id = env.enqueue("accounts.onboard")
    env.run(job_id)
    assert env.job(job_id)["state"] == "queued"
    assert env.count("select count(*) from gates where scope = 'account'") == 1


@pytest.mark.parametrize("job_type", ["accounts.onboard", "accounts.learn_voice"])
def test_a_disconnected_mailbox_is_left_alone(env: MailEnvironment, job_type: str) -> None:
    env.database.execute(
        "update accounts set status = 'disconnected', sealed_access_token = null, sealed_refresh_token = null,"
        " access_expires_at = null"
    )
    assert env.run(env.enqueue(job_type)) == "canceled"


def connected(env: MailEnvironment) -> UUID:
    """Connect the mailbox, and enqueue what follows from it; the job that sets it up."""
    account = connect(env.process, env.account.email, "access-1", "refresh-1")
    with env.process.database.ledger() as tx:
        return enqueue(tx, *first_jobs(account.account_id), org_id=account.org_id)[1].job_id


def test_a_mailbox_that_is_connected_anew_while_its_set_up_waits_is_set_up_as_a_whole(env: MailEnvironment) -> None:
    """What the job that waits has done was for the connection before."""
    first = connected(env)
    assert connected(env) == first, "the same connection is set up once"
    env.fail("sendAs.list", status=503)
    assert env.run(first) == "queued"
    with env.process.database.ledger() as tx:
        accounts.disconnect(tx, env.account.account_id, "left")
    for job_type in sorted(ORDERED):
        assert env.drain(only=job_type) == [(job_type, "canceled")]
    listed = len(env.gmail.journal("labels.list"))
    second = connected(env)
    pass_time(env.database, LATER)
    assert (env.run(first), env.run(second)) == ("canceled", "succeeded")
    assert ordered(env) == sorted([*ORDERED, *ORDERED])
    assert len(env.gmail.journal("labels.list")) > listed, "another mailbox may have the address"


def test_a_consent_that_lapsed_and_came_back_orders_nothing_twice(env: MailEnvironment) -> None:
    job_id = env.enqueue("accounts.onboard")
    env.fail("watch", status=503)
    assert env.run(job_id) == "queued"
    with env.process.database.ledger() as tx:
        version = tokens.current(tx, env.process.sealer, env.account.account_id).version
        assert accounts.mark_needs_reconsent(tx, env.account.account_id, version=version, reason="withdrawn")
    connect(env.process, env.account.email, "access-1", "refresh-1")
    pass_time(env.database, LATER)
    assert env.run(job_id) == "succeeded"
    assert ordered(env) == sorted(ORDERED)

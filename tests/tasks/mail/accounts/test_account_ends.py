"""What becomes of the jobs of an account that waits for consent, or that its owner has taken away: one rule for all."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from domain.jobs.job import Origin
from domain.mail.correspondence import EmailState
from engine.catalogue import Job
from engine.enqueue import enqueue, enqueue_jobs
from storage.mail.accounts import accounts, connecting, disconnecting, tokens
from storage.mail.accounts.accounts import Account, Consent
from storage.mail.accounts.connecting import AddedMailbox, OrgMailbox
from storage.orgs.secrets.sealing import Sealer
from tests.doubles.factories import relay_once
from tests.doubles.mail_environment import MailEnvironment
from tests.sweep.prepared.places import stored_question
from tests.sweep.scenarios import SCENARIOS, Scenario, scenarios_of
from tests.waiting import patient
from tools.reference import fleet

MAIL_TYPES = [one for one in fleet() if "gmail" in one.providers]

WAIT = {"actions.unsnooze": "nobody else would bring the message back, so it waits for the mailbox for a month"}
"""Types whose jobs do not end when the account is disconnected, each with the reason."""

OWED = {"actions.undo", *WAIT}
"""Types whose jobs take something back in the mailbox, also after its user has connected it again."""

DISCONNECTED = "the account was disconnected"


def test_every_mail_type_is_prepared() -> None:
    assert {one.name for one in MAIL_TYPES} <= SCENARIOS.keys()
    assert WAIT.keys() <= {one.name for one in MAIL_TYPES}


def test_every_mail_type_holds_its_mailbox() -> None:
    assert [one.name for one in MAIL_TYPES if one.holds is None] == []


@pytest.mark.parametrize("job_type", MAIL_TYPES, ids=lambda one: one.name)
def test_a_lapsed_consent_parks_the_job_and_a_disconnected_account_cancels_it(
    env: MailEnvironment, job_type: Job[Any]
) -> None:
    job_id = next(scenarios_of(job_type)).prepare(env)
    account_id = env.account.account_id
    called, paid = len(env.gmail.journal()), len(env.model.journal())
    with env.process.database.ledger() as tx:
        version = tokens.current(tx, env.process.sealer, account_id).version
        assert accounts.mark_needs_reconsent(tx, account_id, version=version, reason="the owner withdrew it")
    assert env.run(job_id) == "queued", env.job(job_id)["error"]
    assert env.job(job_id)["attempt"] == 0, "it waits, and spends no attempt"
    with env.process.database.ledger() as tx:
        accounts.disconnect(tx, account_id, "its owner left")
    relay_once(env.process.database)  # lets out what waited for consent
    assert env.job(job_id)["parked_by"] is None
    env.database.execute("update jobs set run_at = now() where id = %s", (job_id,))
    ending = env.run(job_id)
    job = env.job(job_id)
    if job_type.name in WAIT:
        assert ending == "queued"
    else:
        assert (ending, job["cancel_reason"]) == ("canceled", DISCONNECTED)
    assert len(env.gmail.journal()) == called, "nothing was asked of the mailbox"
    assert len(env.model.journal()) == paid, "nothing was paid"


def disconnect(env: MailEnvironment) -> Consent:
    """Take the mailbox away; returns a consent of the same Google user, with which it can be connected again."""
    account_id = env.account.account_id
    with env.process.database.ledger() as tx:
        had, account = tokens.current(tx, env.process.sealer, account_id), accounts.get(tx, account_id)
        accounts.disconnect(tx, account_id, "its owner left")
    assert had.access_token
    assert had.refresh_token
    ends_at = datetime.now(UTC) + timedelta(hours=1)
    return Consent(had.access_token, had.refresh_token, ends_at, account.scopes, account.google_subject)


def leave(env: MailEnvironment) -> Consent:
    """Take the mailbox away by the common door; returns a consent with which it can be connected again."""
    account_id, org_id = env.account.account_id, env.account.org_id
    with patient(env.process.database.ledger()) as tx:
        had, account = tokens.current(tx, env.process.sealer, account_id), accounts.get(tx, account_id)
        jobs = partial(enqueue, org_id=org_id)
        disconnecting.disconnect(tx, account_id, jobs, reason="its owner left", by=Origin(actor_id="a test"))
    assert had.access_token
    assert had.refresh_token
    ends_at = datetime.now(UTC) + timedelta(hours=1)
    return Consent(had.access_token, had.refresh_token, ends_at, subject=account.google_subject)


def connect(env: MailEnvironment, consent: Consent) -> Account:
    """Connect the mailbox by the common door; the environment's account stays the one of before."""
    mailbox = OrgMailbox(env.account.org_id, env.account.email, "new.owner@postroom.example")
    with env.process.database.ledger() as tx:
        added = connecting.connect(tx, env.process.sealer, mailbox, consent, by=Origin())
    assert isinstance(added, AddedMailbox)
    return added.account


def know_owner(env: MailEnvironment) -> None:
    """Let it be known which Google user has connected the mailbox."""
    env.database.execute("update accounts set google_subject = '117'")


EVERY_SCENARIO = [scenario for job_type in MAIL_TYPES for scenario in scenarios_of(job_type)]


@pytest.mark.parametrize("scenario", EVERY_SCENARIO, ids=str)
def test_a_job_that_names_a_closed_account_is_not_done_for_the_next_owner(
    env: MailEnvironment, scenario: Scenario
) -> None:
    """It was not due while nobody had connected the mailbox: a retry, a pause, a time of its own."""
    job_id = scenario.prepare(env)
    connect(env, disconnect(env))
    called, paid, jobs = len(env.gmail.journal()), len(env.model.journal()), env.count("select count(*) from jobs")
    ending = env.run(job_id)
    if scenario.job_type in WAIT:
        assert ending == "queued"
    else:
        assert (ending, env.job(job_id)["cancel_reason"]) == ("canceled", DISCONNECTED)
    assert len(env.gmail.journal()) == called, "nothing was asked of the mailbox"
    assert len(env.model.journal()) == paid, "nothing was paid"
    assert env.count("select count(*) from jobs") == jobs, "no other job does it"


@pytest.mark.parametrize("job_type", MAIL_TYPES, ids=lambda one: one.name)
def test_a_job_of_an_earlier_connection_is_not_done_in_the_account_that_is_opened_again(
    env: MailEnvironment, job_type: Job[Any]
) -> None:
    know_owner(env)
    job_id = next(scenarios_of(job_type)).prepare(env)
    assert connect(env, disconnect(env)).account_id == env.account.account_id
    called, paid, jobs = len(env.gmail.journal()), len(env.model.journal()), env.count("select count(*) from jobs")
    ending = env.run(job_id)
    if job_type.name in OWED:
        assert ending == "succeeded"
        return
    assert (ending, env.job(job_id)["cancel_reason"]) == ("canceled", DISCONNECTED)
    assert len(env.gmail.journal()) == called, "nothing was asked of the mailbox"
    assert len(env.model.journal()) == paid, "nothing was paid"
    assert env.count("select count(*) from jobs") == jobs, "no other job does it"


def test_a_job_that_is_asked_for_again_is_the_next_connection_s(env: MailEnvironment) -> None:
    """The request makes no job of its own, so the job that it finds does what was asked."""
    know_owner(env)
    waits, is_left = env.enqueue("gmail.sync"), env.enqueue("gmail.sync_labels")
    connect(env, disconnect(env))
    assert env.enqueue("gmail.sync") == waits
    assert (env.run(waits), env.run(is_left)) == ("succeeded", "canceled")


@pytest.mark.parametrize("is_known", [True, False])
def test_a_rework_of_a_closed_account_orders_no_first_draft(env: MailEnvironment, *, is_known: bool) -> None:
    thread_id = stored_question(env).thread_id
    job_id = env.enqueue("drafts.rework", {"thread_id": thread_id})
    if is_known:
        connect(env, disconnect(env))
    assert env.run(job_id) == ("canceled" if is_known else "succeeded")


def test_a_renewed_consent_leaves_the_jobs_that_waited_for_it(env: MailEnvironment) -> None:
    job_id = env.enqueue("drafts.write_manual", {"thread_id": stored_question(env).thread_id})
    account_id = env.account.account_id
    with env.process.database.ledger() as tx:
        had = tokens.current(tx, env.process.sealer, account_id)
        assert accounts.mark_needs_reconsent(tx, account_id, version=had.version, reason="the owner withdrew it")
    assert had.access_token
    assert had.refresh_token
    connect(env, Consent(had.access_token, had.refresh_token, datetime.now(UTC) + timedelta(hours=1)))
    assert env.run(job_id) == "succeeded"


@pytest.mark.parametrize("is_known", [True, False])
def test_the_first_jobs_of_a_connection_are_its_own(env: MailEnvironment, *, is_known: bool) -> None:
    if is_known:
        know_owner(env)
    earlier = env.enqueue("accounts.onboard")
    consent = disconnect(env)
    place = OrgMailbox(env.account.org_id, env.account.email, "new.owner@postroom.example")
    with env.process.database.ledger() as tx:
        added = connecting.connect(tx, env.process.sealer, place, consent, by=Origin())
        assert isinstance(added, AddedMailbox)
        onboard = enqueue_jobs(tx, added.first_jobs(Origin()))[1]
    assert (added.account.account_id == env.account.account_id) == is_known
    assert (env.run(earlier), env.run(onboard.job_id)) == ("canceled", "succeeded")


@pytest.mark.parametrize("sends", [True, False])
def test_a_draft_of_the_connection_before_is_the_threads_only_one(env: MailEnvironment, *, sends: bool) -> None:
    env.sync()
    place = env.deliver("Lunch?", "Can we meet on Monday at noon? Please let me know.")
    env.sync()
    (draft,) = env.mailbox.state().drafts
    know_owner(env)
    env.account = connect(env, disconnect(env))
    env.sync()
    assert [one["draft_id"] for one in env.mailbox.state().drafts] == [draft["draft_id"]]
    assert env.state(place.thread_id) is EmailState.DRAFTED
    if sends:
        env.mailbox.send_draft(draft["draft_id"])
        env.sync()
        assert env.state(place.thread_id) is EmailState.SENT


def test_a_job_on_a_worker_without_the_sealing_key_waits_for_another_and_spends_no_attempt(
    env: MailEnvironment,
) -> None:
    """For longer than its policy's three attempts take: a rolling restart with a new key is over by then."""
    in_an_hour = datetime.now(UTC) + timedelta(hours=1)
    job_id = env.enqueue("gmail.sync")
    with env.process.database.ledger() as tx:
        had = tokens.current(tx, env.process.sealer, env.account.account_id)
        assert had.access_token
        assert had.refresh_token
        consent = Consent(had.access_token, had.refresh_token, in_an_hour)
        accounts.connect(tx, Sealer(["the key of the other workers"]), env.account.account_id, consent)
    for _ in range(5):
        assert env.run(job_id) == "queued"
        env.database.execute("update jobs set run_at = now() where id = %s", (job_id,))
    job = env.job(job_id)
    assert (job["attempt"], job["free_returns"]) == (0, 5)
    cause = "select distinct data ->> 'cause' from audit_log where event = 'job.retried' and job_id = %s"
    assert env.database.execute(cause, (job_id,)).fetchall() == [("other_worker",)]
    with env.process.database.ledger() as tx:
        accounts.connect(tx, env.process.sealer, env.account.account_id, consent)
    assert env.run(job_id) == "succeeded", "a worker with the key does it"

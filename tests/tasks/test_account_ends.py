"""What becomes of the jobs of an account that waits for consent, or that its owner has taken away: one rule for all."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from engine.catalogue import Job
from storage.accounts import accounts, tokens
from storage.accounts.accounts import Consent
from storage.secrets.sealing import Sealer
from tests.doubles.factories import relay_once
from tests.doubles.mail_environment import MailEnvironment
from tests.sweep.scenarios import SCENARIOS, scenarios_of
from tools.reference import fleet

MAIL_TYPES = [one for one in fleet() if "gmail" in one.providers]

WAIT = {"actions.unsnooze": "nobody else would bring the message back, so it waits for the account for a month"}
"""Types whose jobs do not end when the account is disconnected, each with the reason."""


def test_every_mail_type_is_prepared() -> None:
    assert {one.name for one in MAIL_TYPES} <= SCENARIOS.keys()
    assert WAIT.keys() <= {one.name for one in MAIL_TYPES}


@pytest.mark.parametrize("job_type", MAIL_TYPES, ids=lambda one: one.name)
def test_a_lapsed_consent_parks_the_job_and_a_disconnected_account_cancels_it(
    env: MailEnvironment, job_type: Job[Any]
) -> None:
    job_id = next(scenarios_of(job_type)).prepare(env)
    here = env.account.account_id
    called, paid = len(env.gmail.journal()), len(env.model.journal())
    with env.process.database.ledger() as tx:
        version = tokens.current(tx, env.process.sealer, here).version
        assert accounts.mark_needs_reconsent(tx, here, version=version, reason="the owner withdrew it")
    assert env.run(job_id) == "queued", env.job(job_id)["error"]
    assert env.job(job_id)["attempt"] == 0, "it waits, and spends no attempt"
    with env.process.database.ledger() as tx:
        accounts.disconnect(tx, here, "its owner left")
    relay_once(env.process.database)  # lets out what waited for consent
    assert env.job(job_id)["parked_by"] is None
    env.database.execute("update jobs set run_at = now() where id = %s", (job_id,))
    ending = env.run(job_id)
    job = env.job(job_id)
    if job_type.name in WAIT:
        assert ending == "queued"
    else:
        assert (ending, job["cancel_reason"]) == ("canceled", "the account was disconnected")
    assert len(env.gmail.journal()) == called, "nothing was asked of the mailbox"
    assert len(env.model.journal()) == paid, "nothing was paid"


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

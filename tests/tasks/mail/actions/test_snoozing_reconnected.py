"""A message that was snoozed before its mailbox was disconnected and connected again by the same Google user."""

from datetime import timedelta
from uuid import UUID

from domain.mail.actions.snooze import Snooze
from sandbox.emulator.control import MessagePlace
from storage.mail.accounts import accounts, tokens
from storage.mail.accounts.accounts import Consent
from storage.mail.actions.actions import StoredAction
from tests.doubles.factories import pass_time, relay_once
from tests.doubles.mail_actions import do, stored_letter
from tests.doubles.mail_environment import MailEnvironment
from tests.tasks.mail.accounts.test_account_ends import connect, disconnect, know_owner
from tests.tasks.mail.actions.test_snoozing import TWO_HOURS, due, hint_of, names, wake_job


def snoozed_then_reconnected(env: MailEnvironment) -> tuple[MessagePlace, StoredAction, Consent]:
    """A message, its snooze under an earlier connection, and the consent of the next one."""
    place = stored_letter(env)
    done = do(env, place, TWO_HOURS)
    know_owner(env)
    consent = disconnect(env)
    env.account = connect(env, consent)
    assert env.run(env.enqueue("gmail.ingest", {"message_id": place.message_id})) == "succeeded"
    return place, done, consent


def test_a_wake_of_an_earlier_connection_waits_for_a_consent_that_was_lost(env: MailEnvironment) -> None:
    place, done, consent = snoozed_then_reconnected(env)
    with env.process.database.ledger() as tx:
        version = tokens.current(tx, env.process.sealer, env.account.account_id).version
        assert accounts.mark_needs_reconsent(tx, env.account.account_id, version=version, reason="withdrawn")
    assert due(env, UUID(hint_of(done)["unsnooze_job_id"])) == "queued"
    pass_time(env.database, timedelta(minutes=1))
    relay_once(env.process.database)
    job = wake_job(env, done)
    assert (job["attempt"], job["parked_by"]) == (0, f"gate:account:{env.account.account_id}")
    connect(env, consent)
    relay_once(env.process.database)
    assert due(env, UUID(job["id"])) == "succeeded"
    assert names(env, place) == {"INBOX", "UNREAD"}


def test_a_message_snoozed_again_after_the_reconnection_keeps_the_later_time(env: MailEnvironment) -> None:
    place, first, _consent = snoozed_then_reconnected(env)
    later = do(env, place, Snooze(amount=5, units="hours"))
    assert due(env, UUID(hint_of(first)["unsnooze_job_id"])) == "succeeded"
    output = wake_job(env, first)["output"]
    assert not output["restored"]
    assert hint_of(later)["snooze_until"][:16] in output["why"]
    assert names(env, place) == {"UNREAD", "Postroom/Snoozed"}
    assert due(env, UUID(hint_of(later)["unsnooze_job_id"])) == "succeeded"
    assert names(env, place) == {"INBOX", "UNREAD"}

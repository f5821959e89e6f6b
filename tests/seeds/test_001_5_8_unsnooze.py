"""Ashford (docs: seeds.md#001-58-unsnoozegmail): the message comes back at its time, whatever has happened to it."""

from datetime import datetime
from uuid import UUID

from domain.mail.actions.snooze import Snooze
from engine.catalogue import catalogue
from tests.doubles.mail_actions import do, labels, stored_letter
from tests.doubles.mail_environment import MailEnvironment
from tests.tasks.actions.test_snoozing import hint_of, wake_job


def test_the_job_has_the_seeds_name_and_payload() -> None:
    job = catalogue.find("unsnooze.gmail")
    assert job is not None
    assert (job.name, job.queue) == ("actions.unsnooze", "default")
    assert set(job.payload.model_fields) == {"account_id", "message_id", "action_id", "snooze_label_id"}
    assert job.declared.unique is not None
    assert job.declared.unique.fields == ("account_id", "action_id")


def test_it_is_scheduled_by_the_snooze_and_restores_the_inbox(env: MailEnvironment) -> None:
    place = stored_letter(env)
    done = do(env, place, Snooze(amount=3, units="days"))
    job, hint = wake_job(env, done), hint_of(done)
    assert job["state"] == "queued"
    assert datetime.fromisoformat(job["run_at"]) == datetime.fromisoformat(hint["snooze_until"])
    assert env.run(UUID(hint["unsnooze_job_id"])) == "not_claimed", "it is not due"
    assert env.drain(only="actions.unsnooze") == [("actions.unsnooze", "succeeded")]
    assert labels(env, place) == {"INBOX", "UNREAD"}


def test_a_deleted_message_is_a_success(env: MailEnvironment) -> None:
    place = stored_letter(env)
    do(env, place, Snooze(amount=3, units="days"))
    env.mailbox.delete_message(place.message_id)
    assert env.drain(only="actions.unsnooze") == [("actions.unsnooze", "succeeded")]

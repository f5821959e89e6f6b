"""Ashford (docs: seeds.md#001-57-actiongmail): by its own job name, each action has its call, its hint and its end."""

from typing import Any
from uuid import UUID

import pytest

from domain.mail.actions.requested_action import RequestedAction, parse_action
from domain.mail.actions.status import ActionStatus
from engine.catalogue import catalogue
from tests.doubles.mail_actions import ask, labels, look, stored_letter
from tests.doubles.mail_environment import MailEnvironment

PARAMETERS: dict[str, dict[str, Any]] = {
    "apply_label": {"label": "IMPORTANT"},
    "remove_label": {"label": "IMPORTANT"},
    "snooze": {"amount": 2, "units": "hours"},
    "forward": {"to": ["anna@example.org"]},
    "auto_reply": {"text": "I am away."},
}
SUPPORTED = [
    ("archive", "messages.modify", "apply_label"),
    ("apply_label", "messages.modify", "remove_label"),
    ("remove_label", "messages.modify", "apply_label"),
    ("mark_read", "messages.modify", "mark_unread"),
    ("mark_unread", "messages.modify", "mark_read"),
    ("star", "messages.modify", "unstar"),
    ("unstar", "messages.modify", "star"),
    ("trash", "messages.trash", "restore"),
    ("restore", "messages.untrash", "trash"),
    ("delete", "messages.delete", "none"),
    ("snooze", "messages.modify", "unsnooze"),
]
AT_FIRST = {"remove_label": ["IMPORTANT"], "mark_unread": [], "unstar": ["STARRED"], "restore": ["TRASH"]}
"""What the message carries, so that there is something to do."""


def requested(kind: str) -> RequestedAction:
    return parse_action({"kind": kind, **PARAMETERS.get(kind, {})})


def test_the_job_has_the_seeds_name_its_attempts_and_its_payload() -> None:
    job = catalogue.find("action.gmail")
    assert job is not None
    assert (job.name, job.queue, job.retry.attempts) == ("actions.execute", "critical", 5)
    assert set(job.payload.model_fields) == {"account_id", "action_id"}
    assert job.declared.unique is not None
    assert job.declared.unique.fields == ("account_id", "action_id")


@pytest.mark.parametrize(("kind", "operation", "inverse"), SUPPORTED, ids=[one[0] for one in SUPPORTED])
def test_a_supported_action_makes_its_call_and_keeps_its_inverse(
    env: MailEnvironment, kind: str, operation: str, inverse: str
) -> None:
    place = stored_letter(env)
    env.mailbox.grant("https://mail.google.com/")
    env.mailbox.label_message(place.message_id, add=tuple(AT_FIRST.get(kind, [])))
    if kind == "mark_unread":
        env.mailbox.label_message(place.message_id, remove=("UNREAD",))
    before = labels(env, place)
    made = ask(env, place, requested(kind))
    job_id = look(env, made).job_id
    assert job_id is not None
    assert look(env, made).state is ActionStatus.QUEUED
    assert env.run(job_id) == "succeeded"
    done = look(env, made)
    assert done.state is ActionStatus.DONE
    assert len(env.gmail.journal(operation)) == 1
    assert done.undo_hint is not None
    assert (done.undo_hint["action"], done.undo_hint["inverse_action"]) == (kind, inverse)
    assert done.undo_hint["irreversible"] is (inverse == "none")
    assert inverse == "none" or set(done.undo_hint["labels_before"]) == before


@pytest.mark.parametrize("kind", ["forward", "auto_reply"])
def test_mail_that_leaves_becomes_an_outbound_job_of_the_action(env: MailEnvironment, kind: str) -> None:
    made = ask(env, stored_letter(env), requested(kind))
    first = look(env, made).job_id
    env.drain(only="actions.execute")
    send = look(env, made).job_id
    assert send is not None
    assert send != first
    assert env.job(send)["job_type"] == "outbound.send"
    assert env.job(send)["payload"]["action_id"] == str(made)


def test_while_it_runs_an_action_is_executing_and_a_failure_is_kept(env: MailEnvironment) -> None:
    made = ask(env, stored_letter(env), requested("archive"))
    env.fail("messages.modify", status=503)
    job_id = look(env, made).job_id
    assert job_id is not None
    assert env.run(job_id) == "queued"
    assert look(env, made).state is ActionStatus.EXECUTING
    env.fail("messages.modify", status=404, times=None)
    assert env.run(job_id) == "failed"
    failed = look(env, made)
    assert failed.state is ActionStatus.FAILED
    assert failed.error is not None
    assert failed.error["code"] == "action.message_gone"


def test_the_seeds_job_takes_the_seeds_payload(env: MailEnvironment) -> None:
    made = ask(env, stored_letter(env), requested("star"))
    job_id: UUID = env.enqueue("action.gmail", {"action_id": str(made)})
    assert job_id == look(env, made).job_id, "the action has its job already: one per account and action"

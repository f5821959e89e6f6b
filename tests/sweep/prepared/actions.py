"""Prepares jobs of the actions, outbound and agents families."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from domain.mail.actions.action import Action
from domain.mail.actions.snooze import Snooze
from domain.payloads.actions import OrderedBy, order_of
from tests.doubles import mail_actions
from tests.doubles.agents import give_agent, order_run, store_letter
from tests.doubles.factories import pass_time
from tests.doubles.mail_actions import actions_of, decided_by_rule, stored_letter
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.outgoing_orders import (
    FORWARD,
    approved,
    automatic,
    letter_with_files,
    order,
    taken_in,
)
from tests.sweep.prepared.places import QUESTION, Prepare, queued


def reply_to_send(env: MailEnvironment) -> UUID:
    """An answer that a person has approved."""
    place = taken_in(env)
    return order(env, place, approved(env, place.message_id))


def forward_to_send(env: MailEnvironment) -> UUID:
    """A forward of a letter with files."""
    place = taken_in(env, raw=letter_with_files())
    return order(env, place, approved(env, place.message_id, FORWARD))


def new_mail_to_send(env: MailEnvironment) -> UUID:
    """A mail that begins a conversation."""
    place = taken_in(env)
    fields = {"message_type": "new", "original_message_id": None, "subject": "Lunch?"}
    return order(env, place, approved(env, place.message_id, FORWARD), **fields)


def answer_to_send(env: MailEnvironment) -> UUID:
    """An answer that nobody was asked about."""
    place = taken_in(env)
    return order(env, place, automatic(env, place.message_id))


def looked_after(env: MailEnvironment) -> UUID:
    """A question that an agent reads and drafts an answer to."""
    give_agent(env)
    return order_run(env, store_letter(env, "Lunch?", QUESTION))


def filed_by_agent(env: MailEnvironment) -> UUID:
    """A receipt that an agent labels and archives."""
    give_agent(env)
    return order_run(env, store_letter(env, "Receipt", "Your order number 5, payment received."))


def asked_by_schedule(prompt: str, **profile: Any) -> Prepare:  # noqa: ANN401 - fields of a profile
    """A question in the mailbox, and what a schedule asks an agent to do about it."""

    def prepare(env: MailEnvironment) -> UUID:
        give_agent(env, **profile)
        store_letter(env, "Lunch?", QUESTION)
        return env.enqueue("agents.invoke", {"profile": "assistant", "prompt": prompt, "schedule_id": str(uuid4())})

    return prepare


def handed_over(env: MailEnvironment) -> UUID:
    """Spam that an agent hands to a person."""
    give_agent(env)
    return order_run(env, store_letter(env, "Winner", "You are a lottery winner, act now!"))


def to_be_executed(action: Action, by: OrderedBy = OrderedBy.PERSON) -> Prepare:
    """A stored letter, and an action on it that goes ahead."""

    def prepare(env: MailEnvironment) -> UUID:
        place = stored_letter(env)
        # What deleting for good takes.
        env.mailbox.grant("https://mail.google.com/")
        made = mail_actions.ask(env, place, action, by=by)
        return queued(env, order_of(env.account.account_id, made, by).declaration.job_type)

    return prepare


def to_be_undone(action: Action) -> Prepare:
    """A done action, and its undo."""

    def prepare(env: MailEnvironment) -> UUID:
        done = mail_actions.do(env, stored_letter(env), action)
        return env.enqueue("actions.undo", {"original_action_id": str(done.action_id)})

    return prepare


def to_be_decided_again(env: MailEnvironment) -> UUID:
    """A letter about which a rule has decided: one action was taken back, and about one a person is still asked."""
    place = decided_by_rule(env, {"kind": "star"}, {"kind": "delete"})
    starred = actions_of(env, place)[0]
    mail_actions.undo(env, starred.action_id)
    env.database.execute("delete from jobs where state = 'queued'")
    return env.enqueue("triage.classify", {"message_id": place.message_id, "force": True})


def due_to_wake(env: MailEnvironment) -> UUID:
    """A snoozed message whose time has come."""
    mail_actions.do(env, stored_letter(env), Snooze(amount=2, units="hours"))
    pass_time(env.database, timedelta(hours=2))
    return queued(env, "actions.unsnooze")

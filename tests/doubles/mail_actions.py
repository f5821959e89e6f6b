"""What tests of actions need: a stored letter, an action on it, and a look at both."""

from functools import partial
from typing import Any
from uuid import UUID

from domain.mail.actions.action import Action
from domain.mail.actions.requested_action import parse_action
from domain.mail.actions.status import ActionStatus
from domain.mail.rule_language.rules import parse_rule
from domain.mail.triage.safety import CheckedAction
from domain.payloads.actions import OrderedBy
from engine.enqueue import enqueue
from sandbox.emulator.control import MessagePlace
from storage.mail.actions import actions
from storage.mail.actions.actions import StoredAction
from storage.mail.rules import rules
from tests.doubles.mail_environment import MailEnvironment


def stored_letter(env: MailEnvironment, subject: str = "News", text: str = "Nothing to do.") -> MessagePlace:
    """A letter that is taken in and not classified."""
    if env.cursor() is None:
        env.enqueue("gmail.sync")
        env.drain(only="gmail.%")
    place = env.deliver(subject, text)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    env.database.execute("delete from jobs where state = 'queued' and job_type = 'triage.classify'")
    env.database.execute("delete from idempotency_keys where status = 'pending'")
    return place


def ask(
    env: MailEnvironment,
    place: MessagePlace,
    action: Action,
    status: ActionStatus = ActionStatus.QUEUED,
    *,
    by: OrderedBy = OrderedBy.PERSON,
) -> UUID:
    """Ask for an action; one that goes ahead gets its job."""
    org_id, account_id = env.account.org_id, env.account.account_id
    reasons = ("a reason",) if status is ActionStatus.APPROVED_PENDING else ()
    checked: Any = CheckedAction(action, status, action.danger, reasons)  # type: ignore[arg-type]  # any class of it
    with env.process.database.tenant(org_id) as tx:
        made = actions.request(tx, account_id, place.message_id, checked, requested_by="a test")
        if status is ActionStatus.QUEUED:
            actions.release(tx, account_id, [made], partial(enqueue, org_id=org_id), by=by)
    return made


def do(env: MailEnvironment, place: MessagePlace, action: Action) -> StoredAction:
    """Ask for an action and let its job run to its end."""
    made = ask(env, place, action)
    env.drain(only="actions.execute")
    return look(env, made)


def undo(env: MailEnvironment, action_id: UUID) -> UUID:
    """Enqueue the undo of an action, and let it run to its end; returns its job."""
    job_id = env.enqueue("actions.undo", {"original_action_id": str(action_id)})
    env.drain(only="actions.undo")
    return job_id


def look(env: MailEnvironment, action_id: UUID) -> StoredAction:
    """An action as it stands."""
    with env.process.database.tenant(env.account.org_id) as tx:
        return actions.get(tx, env.account.account_id, action_id)


def labels(env: MailEnvironment, place: MessagePlace) -> set[str]:
    """The labels that the message carries in the mailbox; raises for one that is gone."""
    found = env.mailbox.state().message(place.message_id)
    assert found is not None, "the message is gone"
    return set(found["label_ids"])


def stored_labels(env: MailEnvironment, place: MessagePlace) -> set[str]:
    """The labels that the fleet believes the message to carry."""
    row = env.database.execute("select labels from messages where gmail_message_id = %s", (place.message_id,))
    found = row.fetchone()
    assert found is not None
    return set(found[0])


def decided_by_rule(env: MailEnvironment, *wanted: dict[str, object]) -> MessagePlace:
    """A message that a rule has decided about, with the actions that it asks for done or waiting."""
    made = parse_rule(
        {
            "rule_id": "x",
            "name": "Anna",
            "when": {"from": "anna@example.com"},
            "then": {"class": "fyi", "actions": [parse_action(one) for one in wanted]},
        }
    )
    with env.process.database.ledger() as tx:
        rules.add(tx, env.account.org_id, made, account_id=env.account.account_id)
    env.sync()
    place = env.deliver("News", "Nothing to do.")
    env.sync()
    env.drain(only="actions.%")
    return place


def actions_of(env: MailEnvironment, place: MessagePlace) -> tuple[StoredAction, ...]:
    """The actions on a message, in the order they were asked for."""
    with env.process.database.tenant(env.account.org_id) as tx:
        return actions.of_message(tx, env.account.account_id, place.message_id)


def job_of(env: MailEnvironment, action_id: UUID) -> dict[str, Any]:
    """The job that executes an action, or did."""
    job_id = look(env, action_id).job_id
    assert job_id is not None
    return env.job(job_id)

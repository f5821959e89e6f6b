"""What a person ordered is executed in the queue of those who wait, and what was decided about mail in another."""

from collections.abc import Callable
from uuid import UUID

import pytest

from domain.approvals.decision import Choice
from domain.jobs.queues import Queue
from domain.mail.actions.label_actions import Archive
from domain.mail.actions.requested_action import Delete
from domain.mail.actions.status import ActionStatus
from domain.payloads.actions import OrderedBy
from tests.doubles.approvals import decide
from tests.doubles.mail_actions import ask, decided_by_rule, job_of, labels, look, stored_letter
from tests.doubles.mail_environment import MailEnvironment


def named_by_a_person(env: MailEnvironment) -> None:
    ask(env, stored_letter(env), Archive())


def approved_by_a_person(env: MailEnvironment) -> None:
    decide(env, ask(env, stored_letter(env), Delete(), ActionStatus.APPROVED_PENDING), Choice.APPROVE)


def decided_by_a_rule(env: MailEnvironment) -> None:
    decided_by_rule(env, {"kind": "archive"})


def approved_after_a_rule(env: MailEnvironment) -> None:
    decided_by_rule(env, {"kind": "delete"})
    (waiting,) = env.database.execute("select id from actions where state = 'approved_pending'").fetchall()
    decide(env, UUID(str(waiting[0])), Choice.APPROVE)


def decided_by_the_model(env: MailEnvironment) -> None:
    env.sync()
    env.say(input_update={"actions": ["star"], "classification": "fyi", "needs_reply": False})
    env.deliver("News", "For your information only.")
    env.sync()


@pytest.mark.parametrize(
    ("order", "queue"),
    [
        (named_by_a_person, Queue.CRITICAL),
        (approved_by_a_person, Queue.CRITICAL),
        (approved_after_a_rule, Queue.CRITICAL),
        (decided_by_a_rule, Queue.DEFAULT),
        (decided_by_the_model, Queue.DEFAULT),
    ],
)
def test_an_action_is_executed_in_the_queue_of_those_who_had_it_go_ahead(
    env: MailEnvironment, order: Callable[[MailEnvironment], None], queue: Queue
) -> None:
    order(env)
    of_actions = "select distinct queue, job_type from jobs where job_type like 'actions.execute%'"
    job_type = "actions.execute" if queue is Queue.CRITICAL else "actions.execute_decided"
    assert env.database.execute(of_actions).fetchall() == [(queue, job_type)]


def test_a_decided_action_that_somebody_orders_by_name_is_carried_out_once(env: MailEnvironment) -> None:
    place = stored_letter(env)
    made = ask(env, place, Archive(), by=OrderedBy.DECISION)
    decided = look(env, made).job_id
    assert decided is not None
    by_name = env.enqueue("actions.execute", {"action_id": str(made)})
    assert env.run(by_name) == "succeeded"
    env.mailbox.label_message(place.message_id, add=("INBOX",))
    assert env.run(decided) == "succeeded"
    assert env.job(decided)["output"] == {"action": "archive", "done_by": str(by_name)}
    assert (look(env, made).state, job_of(env, made)["job_type"]) == (ActionStatus.DONE, "actions.execute")
    assert "INBOX" in labels(env, place), "a second time it would be archived again"

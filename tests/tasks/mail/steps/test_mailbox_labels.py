"""Our labels and the user's: made on demand, deleted, renamed, and found by their ids (docs: gmail.md#labels)."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from domain.mail.correspondence import EmailState, LabelRole, label_name
from domain.mail.rule_language.rules import Rule, parse_rule
from domain.mail.triage.prompts import RuleScope
from engine.context import JobContext
from providers.google.gmail import GmailMailbox
from storage.mail.accounts import label_lease, labels
from storage.mail.rules import kept_rules, rules
from storage.mail.rules.rules import Reach
from tasks.mail.steps import mailbox_labels
from tests.doubles.factories import claim_one, unmetered
from tests.doubles.mail_environment import OWNER, MailEnvironment
from tests.doubles.mail_factories import add_in_words
from tests.doubles.triggers import refuse
from tests.sandbox.sdk import gmail_users

QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."


def make(env: MailEnvironment, name: str) -> str:
    """As the person does in Gmail's settings, like the two below."""
    with gmail_users(env.gmail.url) as users:
        return str(users.labels().create(userId="me", body={"name": name}).execute()["id"])


def delete(env: MailEnvironment, label_id: str) -> None:
    with gmail_users(env.gmail.url) as users:
        users.labels().delete(userId="me", id=label_id).execute()


def rename(env: MailEnvironment, label_id: str, name: str) -> None:
    with gmail_users(env.gmail.url) as users:
        users.labels().patch(userId="me", id=label_id, body={"name": name}).execute()


def sync_labels(env: MailEnvironment) -> dict[str, int]:
    job_id = env.enqueue("gmail.sync_labels")
    assert env.run(job_id) == "succeeded"
    output: dict[str, int] = env.job(job_id)["output"]
    return output


def test_a_deleted_label_disables_the_rules_that_name_it_with_the_reason(env: MailEnvironment) -> None:
    label_id = make(env, "Projects")
    sync_labels(env)
    account_id, org_id = env.account.account_id, env.account.org_id
    with env.process.database.ledger() as tx:
        labels.describe(tx, account_id, label_id, description="the user's words", for_classifier=True)
        for name, named in (("Projects", label_id), ("Other", "INBOX")):
            rules.add(tx, org_id, about(name, named), account_id=account_id)
        reach = Reach(RuleScope.ACCOUNT, account_id)
        add_in_words(tx, org_id, reach, name="words", content="File it.", label_ids=(label_id,))
    delete(env, label_id)
    assert sync_labels(env) == {"labels": 21, "vanished": 1, "disabled_rules": 2}
    with env.process.database.ledger() as tx:
        found = {rule.name: rule for rule in kept_rules.listed(tx, org_id, account_id=account_id)}
    assert found["Other"].enabled
    assert not found["Projects"].enabled
    assert found["Projects"].disabled_reason == "Label 'Projects' was deleted from Gmail"
    assert env.count("select count(*) from audit_log where event = 'rule.disabled'") == 2
    row = env.database.execute("select description, for_classifier from labels where gmail_label_id = %s", (label_id,))
    assert row.fetchone() == ("the user's words", True)
    assert sync_labels(env)["disabled_rules"] == 0


def test_a_renamed_label_keeps_its_id_and_what_the_user_said(env: MailEnvironment) -> None:
    label_id = make(env, "Projects")
    sync_labels(env)
    with env.process.database.ledger() as tx:
        labels.describe(tx, env.account.account_id, label_id, description="the user's words", for_classifier=True)
    rename(env, label_id, "Ventures")
    sync_labels(env)
    with env.process.database.ledger() as tx:
        (found,) = [one for one in labels.list_all(tx, env.account.account_id) if one.label.label_id == label_id]
    assert (found.label.name, found.description, found.for_classifier) == ("Ventures", "the user's words", True)


def about(name: str, label_id: str) -> Rule:
    condition = {"label": label_id}
    return parse_rule({"rule_id": "x", "name": name, "when": condition, "then": {"class": "fyi"}})


@pytest.mark.parametrize("name", ["postroom/NEEDS RESPONSE", "Postroom-Needs Response"])
def test_a_label_that_gmail_takes_for_ours_is_ours(env: MailEnvironment, name: str) -> None:
    label_id = make(env, name)
    env.sync()
    place = env.deliver("Lunch?", QUESTION)
    env.sync()
    assert env.state(place.thread_id) is EmailState.DRAFTED
    with env.process.database.ledger() as tx:
        assert labels.ids_by_role(tx, env.account.account_id)[LabelRole.NEEDS_RESPONSE] == label_id


def test_a_label_of_ours_that_its_person_deleted_is_made_again(env: MailEnvironment) -> None:
    env.sync()
    env.deliver("Lunch?", QUESTION)
    env.sync()
    with env.process.database.ledger() as tx:
        before = labels.ids_by_role(tx, env.account.account_id)
    for role in (LabelRole.NEEDS_RESPONSE, LabelRole.OUTBOX):
        delete(env, before[role])
    place = env.deliver("Dinner?", QUESTION)
    ends = env.sync()
    assert "failed" not in {end for _, end in ends}
    assert env.state(place.thread_id) is EmailState.DRAFTED
    assert "Postroom/Outbox" in env.mailbox.state().label_names(place.message_id)


def test_labels_are_made_under_the_parent_that_the_owner_wants(env: MailEnvironment) -> None:
    env.database.execute("""update accounts set settings = '{"label_parent": "Post"}'""")
    env.sync()
    place = env.deliver("Lunch?", QUESTION)
    env.sync()
    assert "Post/Outbox" in env.mailbox.state().label_names(place.message_id)
    made = [call.summary["name"] for call in env.gmail.journal("labels.create") if call.status == 200]
    assert made == ["Post", "Post/Needs Response", "Post/Outbox"]


def test_a_mailbox_gets_all_our_labels_once_for_a_person_to_use(env: MailEnvironment) -> None:
    sync_labels(env)
    ours = {one["name"] for one in env.mailbox.state().labels if one["name"].startswith("Postroom/")}
    assert ours == {label_name(role) for role in LabelRole}
    made = len(env.gmail.journal("labels.create"))
    sync_labels(env)
    assert len(env.gmail.journal("labels.create")) == made


def test_labels_whose_answer_was_lost_are_stored_by_the_next_attempt(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Lunch?", QUESTION)
    env.fail("messages.modify", drop="after")
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    env.drain(only="triage.%")
    stored = env.database.execute(
        "select labels from messages where gmail_message_id = %s", (place.message_id,)
    ).fetchone()
    (shown,) = [one for one in env.mailbox.state().messages if one["message_id"] == place.message_id]
    assert stored is not None
    assert sorted(stored[0]) == shown["label_ids"]


def test_labels_that_were_offered_half_are_completed_by_the_next_attempt(env: MailEnvironment) -> None:
    env.fail("labels.create", skip=3, drop="after")
    job_id = env.enqueue("gmail.sync_labels")
    assert [end for _, end in env.drain(only="gmail.%")] == ["queued", "succeeded"]
    assert env.job(job_id)["attempt"] == 2
    names = {one["name"] for one in env.mailbox.state().labels}
    assert names >= {label_name(role, "Postroom") for role in LabelRole}


def ours(env: MailEnvironment) -> set[str]:
    return {one["name"] for one in env.mailbox.state().labels if one["name"].startswith("Postroom/")}


@pytest.mark.parametrize(
    ("operation", "order"),
    [
        ("labels.list", {"status": 503}),
        ("labels.list", {"status": 429}),
        ("labels.create", {"status": 500, "skip": 2}),
        ("labels.create", {"drop": "after", "skip": 2}),
        ("labels.create", {"drop": "before"}),
    ],
)
def test_a_mailbox_gets_all_our_labels_although_the_first_contact_failed(
    env: MailEnvironment, operation: str, order: dict[str, Any]
) -> None:
    """Other jobs make the two that they need meanwhile: these are not taken for all of them."""
    env.sync()
    env.deliver("Lunch?", QUESTION)
    env.fail(operation, **order)
    first = env.enqueue("gmail.sync_labels")
    assert env.run(first) == "queued"
    env.database.execute("delete from gates")
    env.enqueue("gmail.sync")
    env.drain()
    assert env.job(first)["state"] == "succeeded"
    assert ours(env) == {label_name(role) for role in LabelRole}
    with env.process.database.ledger() as tx:
        assert labels.ids_by_role(tx, env.account.account_id).keys() == set(LabelRole)


def test_a_label_that_its_person_deleted_is_not_made_without_need(env: MailEnvironment) -> None:
    sync_labels(env)
    with env.process.database.ledger() as tx:
        done = labels.ids_by_role(tx, env.account.account_id)[LabelRole.DONE]
    delete(env, done)
    sync_labels(env)
    sync_labels(env)
    assert ours(env) == {label_name(role) for role in LabelRole} - {label_name(LabelRole.DONE)}


def test_a_job_that_needs_one_label_and_then_another_has_both(env: MailEnvironment) -> None:
    ctx = JobContext(env.process, claim_one(env.process.database, env.enqueue("gmail.sync_labels")))
    needed = (LabelRole.NEEDS_RESPONSE, LabelRole.OUTBOX)
    with GmailMailbox(
        account=OWNER, access_token="access-1", timeout_s=10, meter=unmetered, endpoint=env.gmail.url
    ) as mailbox:
        for role in needed:
            mailbox_labels.create(ctx, mailbox, env.account, [role])
    assert ours(env) == {label_name(role) for role in needed}


def test_one_job_at_a_time_makes_a_mailbox_s_labels(env: MailEnvironment) -> None:
    env.sync()
    places = [env.deliver(f"Question {number}?", QUESTION) for number in range(3)]
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    account_id, somebody = env.account.account_id, uuid4()
    with env.process.database.ledger() as tx:
        assert label_lease.take(tx, account_id, owner=somebody, lease=timedelta(minutes=1))
    waiting = env.database.execute("select id from jobs where job_type = 'triage.classify'").fetchall()
    assert {env.run(row[0]) for row in waiting} == {"queued"}
    assert env.gmail.journal("labels.create") == []
    assert env.count("select max(attempt) from jobs where job_type = 'triage.classify'") == 0
    assert env.count("select count(*) from audit_log where data ->> 'cause' = 'busy'") == len(waiting)
    with env.process.database.ledger() as tx:
        label_lease.release(tx, account_id, owner=somebody)
    env.drain()
    assert {env.state(place.thread_id) for place in places} == {EmailState.DRAFTED}
    assert [call.status for call in env.gmail.journal("labels.create")] == [200] * 3


def test_a_job_that_died_while_it_made_labels_keeps_nobody_for_ever(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Question?", QUESTION)
    with env.process.database.ledger() as tx:
        assert label_lease.take(tx, env.account.account_id, owner=uuid4(), lease=mailbox_labels.LEASE)
    env.sync()
    assert env.state(place.thread_id) is EmailState.DRAFTED
    assert env.count("select count(*) from accounts where labels_owner is not null") == 0


def test_labels_that_are_there_are_not_made_again(env: MailEnvironment) -> None:
    """A mailbox that was connected before, to a database that knows nothing of it."""
    sync_labels(env)
    made = len(env.gmail.journal("labels.create"))
    env.database.execute("delete from labels")
    sync_labels(env)
    assert len(env.gmail.journal("labels.create")) == made


def test_what_gmail_refuses_counts_although_the_lease_cannot_be_given_back(env: MailEnvironment) -> None:
    env.sync()
    env.fail("labels.create", times=None, status=429, reason="userRateLimitExceeded")
    refuse(env.database, "update", "accounts", when="old.labels_owner is not null and new.labels_owner is null")
    assert env.run(env.enqueue("gmail.sync_labels")) == "queued"
    assert env.count("select count(*) from gates where scope = 'account'") == 1

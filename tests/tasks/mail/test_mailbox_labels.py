"""Our labels and the user's: made on demand, deleted, renamed, and found by their ids (docs: gmail.md#labels)."""

import pytest

from domain.mail.correspondence import EmailState, LabelRole, label_name
from domain.mail.triage.prompts import RuleScope
from domain.mail.triage.rules import Rule, parse_rule
from storage.accounts import labels
from storage.mail import rules
from storage.mail.rules import Reach
from tests.doubles.worlds import World
from tests.sandbox.sdk import gmail_users

QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."


def make(world: World, name: str) -> str:
    """As the person does in Gmail's settings, like the two below."""
    with gmail_users(world.gmail.url) as users:
        return str(users.labels().create(userId="me", body={"name": name}).execute()["id"])


def delete(world: World, label_id: str) -> None:
    with gmail_users(world.gmail.url) as users:
        users.labels().delete(userId="me", id=label_id).execute()


def rename(world: World, label_id: str, name: str) -> None:
    with gmail_users(world.gmail.url) as users:
        users.labels().patch(userId="me", id=label_id, body={"name": name}).execute()


def sync_labels(world: World) -> dict[str, int]:
    job_id = world.enqueue("gmail.sync_labels")
    assert world.run(job_id) == "succeeded"
    output: dict[str, int] = world.job(job_id)["output"]
    return output


def test_a_deleted_label_disables_the_rules_that_name_it_with_the_reason(world: World) -> None:
    label_id = make(world, "Projects")
    sync_labels(world)
    here, org_id = world.account.account_id, world.account.org_id
    with world.process.database.ledger() as tx:
        labels.describe(tx, here, label_id, description="the user's words", for_classifier=True)
        for name, named in (("Projects", label_id), ("Other", "INBOX")):
            rules.add(tx, org_id, about(name, named), account_id=here)
        reach = Reach(RuleScope.ACCOUNT, here)
        rules.add_in_words(tx, org_id, reach, name="words", content="File it.", label_ids=(label_id,))
    delete(world, label_id)
    assert sync_labels(world) == {"labels": 21, "vanished": 1, "disabled_rules": 2}
    with world.process.database.ledger() as tx:
        found = {one.name: one for one in rules.of_account(tx, here, disabled_too=True).rules}
    assert found["Other"].enabled
    assert not found["Projects"].enabled
    assert found["Projects"].disabled_reason == "Label 'Projects' was deleted from Gmail"
    assert world.count("select count(*) from audit_log where event = 'rule.disabled'") == 2
    row = world.database.execute(
        "select description, for_classifier from labels where gmail_label_id = %s", (label_id,)
    )
    assert row.fetchone() == ("the user's words", True)
    assert sync_labels(world)["disabled_rules"] == 0


def test_a_renamed_label_keeps_its_id_and_what_the_user_said(world: World) -> None:
    label_id = make(world, "Projects")
    sync_labels(world)
    with world.process.database.ledger() as tx:
        labels.describe(tx, world.account.account_id, label_id, description="the user's words", for_classifier=True)
    rename(world, label_id, "Ventures")
    sync_labels(world)
    with world.process.database.ledger() as tx:
        (found,) = [one for one in labels.list_all(tx, world.account.account_id) if one.label.label_id == label_id]
    assert (found.label.name, found.description, found.for_classifier) == ("Ventures", "the user's words", True)


def about(name: str, label_id: str) -> Rule:
    condition = {"kind": "label", "label_id": label_id}
    return parse_rule({"rule_id": "x", "name": name, "condition": condition, "decision": {"classification": "fyi"}})


@pytest.mark.parametrize("name", ["postroom/NEEDS RESPONSE", "Postroom-Needs Response"])
def test_a_label_that_gmail_takes_for_ours_is_ours(world: World, name: str) -> None:
    label_id = make(world, name)
    world.sync()
    place = world.deliver("Lunch?", QUESTION)
    world.sync()
    assert world.state(place.thread_id) is EmailState.DRAFTED
    with world.process.database.ledger() as tx:
        assert labels.ids_by_role(tx, world.account.account_id)[LabelRole.NEEDS_RESPONSE] == label_id


def test_a_label_of_ours_that_its_person_deleted_is_made_again(world: World) -> None:
    world.sync()
    world.deliver("Lunch?", QUESTION)
    world.sync()
    with world.process.database.ledger() as tx:
        before = labels.ids_by_role(tx, world.account.account_id)
    for role in (LabelRole.NEEDS_RESPONSE, LabelRole.OUTBOX):
        delete(world, before[role])
    place = world.deliver("Dinner?", QUESTION)
    ends = world.sync()
    assert "failed" not in {end for _, end in ends}
    assert world.state(place.thread_id) is EmailState.DRAFTED
    assert "Postroom/Outbox" in world.mailbox.state().label_names(place.message_id)


def test_labels_are_made_under_the_parent_that_the_owner_wants(world: World) -> None:
    world.database.execute("""update accounts set settings = '{"label_parent": "Post"}'""")
    world.sync()
    place = world.deliver("Lunch?", QUESTION)
    world.sync()
    assert "Post/Outbox" in world.mailbox.state().label_names(place.message_id)
    made = [call.summary["name"] for call in world.gmail.journal("labels.create") if call.status == 200]
    assert made == ["Post", "Post/Needs Response", "Post/Outbox"]


def test_a_mailbox_gets_all_our_labels_once_for_a_person_to_use(world: World) -> None:
    sync_labels(world)
    ours = {one["name"] for one in world.mailbox.state().labels if one["name"].startswith("Postroom/")}
    assert ours == {label_name(role) for role in LabelRole}
    made = len(world.gmail.journal("labels.create"))
    sync_labels(world)
    assert len(world.gmail.journal("labels.create")) == made


def test_labels_whose_answer_was_lost_are_stored_by_the_next_attempt(world: World) -> None:
    world.sync()
    place = world.deliver("Lunch?", QUESTION)
    world.fail("messages.modify", drop="after")
    world.enqueue("gmail.sync")
    world.drain(only="gmail.%")
    world.drain(only="triage.%")
    stored = world.database.execute(
        "select labels from messages where gmail_message_id = %s", (place.message_id,)
    ).fetchone()
    (shown,) = [one for one in world.mailbox.state().messages if one["message_id"] == place.message_id]
    assert stored is not None
    assert sorted(stored[0]) == shown["label_ids"]


def test_labels_that_were_offered_half_are_completed_by_the_next_attempt(world: World) -> None:
    world.fail("labels.create", skip=3, drop="after")
    job_id = world.enqueue("gmail.sync_labels")
    assert [end for _, end in world.drain(only="gmail.%")] == ["queued", "succeeded"]
    assert world.job(job_id)["attempt"] == 2
    names = {one["name"] for one in world.mailbox.state().labels}
    assert names >= {label_name(role, "Postroom") for role in LabelRole}

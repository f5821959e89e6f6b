"""A person takes off a label that we had put on: the next classification is told, and our own removals tell nothing."""

import pytest

from domain.mail.actions.label_actions import RemoveLabel
from domain.mail.actions.status import ActionStatus
from domain.mail.triage.prompts import CLASSIFY_TOOL
from providers.ports.language_model import ModelRequest
from sandbox.emulator.control import MessagePlace
from storage.mail.accounts import labels
from storage.mail.rules import corrections
from storage.postgres.database import Transaction
from tests.doubles.mail_actions import do
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.meanwhile import Meanwhile
from tests.sandbox.sdk import gmail_users

NEWS = "For your information only."


def make_label(env: MailEnvironment, name: str) -> str:
    """A label of the person's own, which the model may use."""
    with gmail_users(env.gmail.url) as users:
        label_id = str(users.labels().create(userId="me", body={"name": name}).execute()["id"])
    env.enqueue("gmail.sync_labels")
    env.drain(only="gmail.sync_labels")
    with env.process.database.ledger() as tx:
        labels.describe(tx, env.account.account_id, label_id, description="what I paid", for_classifier=True)
    return label_id


def labelled(env: MailEnvironment, name: str, label_id: str) -> MessagePlace:
    """A message that the model put under a label, and that carries it."""
    env.say(input_update={"labels": [name]})
    place = env.deliver("Paid", NEWS)
    env.sync()
    if label_id not in (env.mailbox.state().message(place.message_id) or {})["label_ids"]:
        env.mailbox.label_message(place.message_id, add=(label_id,))
        env.sync()
    return place


@pytest.fixture
def told(meanwhile: Meanwhile) -> list[ModelRequest]:
    """What the model is told, a request per message."""
    return meanwhile(CLASSIFY_TOOL, lambda: None)


def kept(env: MailEnvironment, tx: Transaction) -> list[tuple[str, str | None]]:
    found = corrections.recent(tx, env.account.account_id, now=env.process.clock()).answer
    return [(one.label, one.moved_to) for one in found]


def test_the_next_classification_is_told_what_its_owner_took_off(
    env: MailEnvironment, told: list[ModelRequest]
) -> None:
    env.sync()
    label_id, other_id = make_label(env, "Receipts"), make_label(env, "Bills")
    place = labelled(env, "Receipts", label_id)
    assert "took off again" not in told[-1].particular
    env.mailbox.label_message(place.message_id, remove=(label_id,), add=(other_id,))
    env.sync()
    env.deliver("Paid again", NEWS)
    env.sync()
    assert (
        'Taken off mail of this sender once: "Receipts", decided as fyi, and put "Bills" there instead.'
        in told[-1].particular
    )
    with env.process.database.ledger() as tx:
        assert kept(env, tx) == [("Receipts", "Bills")]


def test_what_was_taken_off_just_before_a_full_sync_is_known_after_it(
    env: MailEnvironment, told: list[ModelRequest]
) -> None:
    env.sync()
    label_id = make_label(env, "Receipts")
    place = labelled(env, "Receipts", label_id)
    assert told
    env.mailbox.label_message(place.message_id, remove=(label_id,))
    env.sync(force_full=True, reason="full")
    env.sync()
    with env.process.database.ledger() as tx:
        assert kept(env, tx) == [("Receipts", None)]


def test_what_a_person_put_on_themselves_is_theirs_to_take_off(env: MailEnvironment) -> None:
    env.sync()
    label_id = make_label(env, "Receipts")
    place = env.deliver("Paid", NEWS)
    env.sync()
    for change in ({"add": (label_id,)}, {"remove": (label_id, "INBOX", "UNREAD")}):
        env.mailbox.label_message(place.message_id, **change)
        env.sync()
    with env.process.database.ledger() as tx:
        assert kept(env, tx) == []


def test_needs_response_taken_off_while_an_answer_is_waited_for(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Lunch?", "Could you tell me whether noon on Friday suits you? Please reply.")
    env.enqueue("gmail.sync")
    for family in ("gmail.%", "triage.%"):
        env.drain(only=family)
    with env.process.database.ledger() as tx:
        assert kept(env, tx) == [], "our own label writes are no corrections"
    env.mailbox.label_thread(place.thread_id, remove=(env.label("Needs Response"),))
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    with env.process.database.ledger() as tx:
        assert kept(env, tx) == [("Postroom/Needs Response", None)]


@pytest.mark.parametrize("which", ["Needs Response", "Receipts"])
def test_what_an_action_takes_off_is_no_correction(env: MailEnvironment, which: str) -> None:
    env.sync()
    if which == "Receipts":
        label_id = make_label(env, which)
        place = labelled(env, which, label_id)
    else:
        label_id = env.label(which)
        env.fail("drafts.create", times=None, status=403, reason="domainPolicy")
        place = env.deliver("Lunch?", "Could you tell me whether noon on Friday suits you? Please reply.")
        env.sync()
    assert label_id in (env.mailbox.state().message(place.message_id) or {})["label_ids"]
    assert do(env, place, RemoveLabel(label_id=label_id)).state is ActionStatus.DONE
    env.sync()
    with env.process.database.ledger() as tx:
        assert kept(env, tx) == []

"""Writing a draft: in its thread, once whatever happens to the answer, and never over a person's words."""

from datetime import timedelta
from email import message_from_string
from email.policy import default

import pytest

from domain.mail.correspondence import EmailState
from domain.mail.parsing.mime import parse_message
from domain.payloads.mail_address import Address
from engine.runtime import Lease
from sandbox.emulator.control import MessagePlace
from tests.doubles.mail_environment import OWNER, MailEnvironment

QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."
MORE = "Could you also tell me who else is coming? Please reply."


def ask(env: MailEnvironment, subject: str = "Lunch?", **options: object) -> MessagePlace:
    """A question that is taken in and classified, its draft still to be written."""
    env.sync()
    place = env.deliver(subject, QUESTION, **options)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    env.drain(only="triage.%")
    return place


def made(env: MailEnvironment) -> int:
    """How many drafts were ever made at Gmail, whatever was answered."""
    return sum("draft_id" in call.summary for call in env.gmail.journal("drafts.create"))


def test_a_draft_comes_from_the_alias_that_was_written_to(env: MailEnvironment) -> None:
    aliases = {"sales@postroom.example": "accepted", "boss@postroom.example": "pending"}
    facts = {"displayName": "Söles", "replyToAddress": "desk@postroom.example", "signature": "<b>Söles</b><br>Acme"}
    env.mailbox = env.gmail.create_account(
        OWNER, "access-1", "refresh-1", aliases=aliases, send_as={"sales@postroom.example": facts}
    )
    env.sync()
    env.deliver("Lunch?", QUESTION, headers={"To": "Sales <sales@postroom.example>"})
    env.sync()
    (draft,) = env.mailbox.state().drafts
    mail = parse_message(draft["raw"].encode())
    assert mail.from_ == Address("Söles", "sales@postroom.example")
    assert [one.address for one in mail.reply_to] == ["desk@postroom.example"]
    assert mail.text.splitlines()[-2:] == ["Söles", "Acme"]


def test_the_draft_stands_in_its_thread(env: MailEnvironment) -> None:
    place = ask(env, headers={"References": "<root@example.com>", "Message-ID": "<child@example.com>"})
    env.drain()
    (draft,) = env.mailbox.state().drafts
    assert draft["thread_id"] == place.thread_id
    assert not draft["ghost"]
    message = message_from_string(draft["raw"], policy=default)
    assert message["In-Reply-To"] == "<child@example.com>"
    assert message["References"].split()[0] == "<root@example.com>"
    assert message["References"].split()[-1] == "<child@example.com>"
    assert message["Subject"] == "Re: Lunch?"
    assert message["To"] == "Anna Example <anna@example.com>"
    assert message["From"] == env.account.email


def test_labels_go_on_the_mail_and_never_on_the_draft(env: MailEnvironment) -> None:
    place = ask(env)
    assert "Postroom/Needs Response" in env.mailbox.state().label_names(place.message_id)
    env.drain()
    state = env.mailbox.state()
    assert state.label_names(place.message_id) >= {"Postroom/Outbox", "INBOX"}
    assert state.label_names(state.drafts[0]["message_id"]) == {"DRAFT"}
    refused = [call for call in env.gmail.journal("messages.modify") if call.status != 200]
    assert refused == []


@pytest.mark.parametrize(
    ("order", "calls"),
    [
        ({"drop": "after"}, 1),
        ({"drop": "before"}, 2),
        ({"status": 503, "after_execution": True}, 1),
        ({"status": 503}, 2),
    ],
)
def test_a_lost_answer_leads_to_one_draft(env: MailEnvironment, order: dict[str, object], calls: int) -> None:
    place = ask(env)
    env.fail("drafts.create", **order)
    ends = env.drain()
    # What is not there may come for as long as the first call may last: it is looked for once more before the second.
    waits = ["queued"] * (calls - 1)
    assert [end for job, end in ends if job == "drafts.write"] == ["queued", *waits, "succeeded"]
    assert len(env.mailbox.state().drafts) == made(env) == 1
    assert len(env.gmail.journal("drafts.create")) == calls
    assert env.email(place.thread_id).draft_id == env.mailbox.state().drafts[0]["draft_id"]
    assert len(env.model.journal("messages.create")) == 2, "a retry does not pay for the words again"


def test_a_draft_sent_before_its_record_was_kept_counts_as_sent(env: MailEnvironment) -> None:
    place = ask(env)
    env.fail("drafts.create", drop="after")
    row = env.database.execute("select id from jobs where job_type = 'drafts.write'").fetchone()
    assert row is not None
    assert env.run(row[0]) == "queued"
    env.mailbox.send_draft(env.mailbox.state().drafts[0]["draft_id"])
    env.drain()
    assert made(env) == 1
    assert env.job(row[0])["state"] == "succeeded"
    assert env.state(place.thread_id) is EmailState.SENT
    assert env.mailbox.state().label_names(place.message_id) == {"INBOX", "UNREAD"}


def test_two_questions_in_one_thread_get_one_draft(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Lunch?", QUESTION)
    env.deliver("Lunch?", MORE, thread_id=place.thread_id)
    env.sync()
    assert len(env.mailbox.state().drafts) == made(env) == 1


def test_a_question_after_the_draft_gets_no_second_draft(env: MailEnvironment) -> None:
    place = ask(env)
    env.drain()
    env.deliver("Lunch?", MORE, thread_id=place.thread_id)
    env.sync()
    assert len(env.mailbox.state().drafts) == made(env) == 1
    assert env.state(place.thread_id) is EmailState.DRAFTED


def test_a_question_after_the_answer_gets_its_own_draft(env: MailEnvironment) -> None:
    place = ask(env)
    env.drain()
    first = env.email(place.thread_id).draft_id
    env.mailbox.send_draft(first or "")
    env.sync()
    later = env.deliver("Re: Lunch?", MORE, thread_id=place.thread_id)
    env.sync()
    assert env.state(place.thread_id) is EmailState.DRAFTED
    assert env.email(place.thread_id).draft_id != first
    assert len(env.mailbox.state().drafts) == 1
    assert "Postroom/Outbox" in env.mailbox.state().label_names(later.message_id)


def test_whoever_has_answered_gets_no_draft(env: MailEnvironment) -> None:
    place = ask(env)
    env.deliver("Re: Lunch?", "Noon is fine.", thread_id=place.thread_id, label_ids=("SENT",))
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    env.drain()
    assert made(env) == 0
    assert env.state(place.thread_id) is EmailState.SKIPPED
    assert "Postroom/Needs Response" not in env.mailbox.state().label_names(place.message_id)
    assert len(env.model.journal("messages.create")) == 1


@pytest.mark.parametrize(
    "answer",
    [
        {"stop_reason": "refusal"},
        {"stop_reason": "max_tokens"},
        {"text": "Dear Anna, noon is fine."},
        {"tool": "send_mail"},
        {"input": {"body": " ", "confidence": 0.9}},
        {"input_update": {"to": "thief@example.org"}},
    ],
)
def test_words_that_cannot_be_used_leave_the_mail_to_its_person(
    env: MailEnvironment, answer: dict[str, object]
) -> None:
    place = ask(env)
    env.say(**answer)
    ends = env.drain()
    assert ends[0] == ("drafts.write", "succeeded")
    assert made(env) == 0
    assert env.state(place.thread_id) is EmailState.SKIPPED
    names = env.mailbox.state().label_names(place.message_id)
    assert "Postroom/Action Required" in names
    assert "Postroom/Needs Response" not in names
    assert env.count("select count(*) from llm_calls where purpose = 'draft'") == 1


def test_mail_without_an_address_to_answer_is_left_to_its_person(env: MailEnvironment) -> None:
    place = ask(env, headers={"From": "Anna Example"})
    assert {end for _, end in env.drain()} <= {"succeeded"}
    assert made(env) == 0
    assert env.state(place.thread_id) is EmailState.SKIPPED


def test_ten_strangers_in_reply_to_are_left_to_a_person(env: MailEnvironment) -> None:
    """Finding E9: the record and the mailbox say so, and the model is not paid."""
    strangers = ", ".join(f"stranger{number}@example.net" for number in range(10))
    place = ask(env, headers={"Reply-To": strangers})
    assert {end for _, end in env.drain()} <= {"succeeded"}
    assert made(env) == 0
    assert env.state(place.thread_id) is EmailState.SKIPPED
    assert "Postroom/Action Required" in env.mailbox.state().label_names(place.message_id)
    assert env.count("select count(*) from llm_calls where purpose = 'draft'") == 0


def test_a_thread_deleted_before_its_draft_is_written_ends_without_failure(env: MailEnvironment) -> None:
    place = ask(env)
    env.mailbox.delete_thread(place.thread_id)
    assert env.drain()[0] == ("drafts.write", "succeeded")
    assert env.state(place.thread_id) is EmailState.SKIPPED


def test_a_draft_nobody_waits_for_any_more_is_taken_back(env: MailEnvironment) -> None:
    """The person is done with the thread while its draft is on its way: after the last look, before the record."""
    place = ask(env)
    env.process.lease = BusyPerson(env)
    assert env.drain(only="drafts.%") == [("drafts.write", "succeeded")]
    assert made(env) == 1
    assert env.mailbox.state().drafts == []
    assert env.state(place.thread_id) is EmailState.ARCHIVED
    assert "Postroom/Outbox" not in env.mailbox.state().label_names(place.message_id)


class BusyPerson(Lease):
    """Is asked for its margin right before each outside effect, and uses the moment."""

    def __init__(self, env: MailEnvironment) -> None:
        super().__init__(timedelta(minutes=1))
        self._env = env

    def margin(self) -> timedelta:
        self._env.database.execute(
            "update emails set state = 'archived' where state = 'pending' and draft_token is not null"
        )
        return super().margin()


def test_an_old_untouched_draft_makes_way_for_the_new_one(env: MailEnvironment) -> None:
    place = ask(env)
    env.drain()
    old = env.email(place.thread_id).draft_id
    env.mailbox.label_thread(place.thread_id, add=(env.label("Done"),))
    env.sync()
    assert env.state(place.thread_id) is EmailState.ARCHIVED
    env.deliver("Lunch?", MORE, thread_id=place.thread_id)
    env.sync()
    (draft,) = env.mailbox.state().drafts
    assert draft["draft_id"] != old
    assert env.email(place.thread_id).draft_id == draft["draft_id"]


def test_an_old_draft_with_a_persons_words_stays_alone(env: MailEnvironment) -> None:
    place = ask(env)
    env.drain()
    old = env.email(place.thread_id).draft_id or ""
    env.mailbox.edit_draft(old, text="My own words.")
    env.sync()
    env.mailbox.label_thread(place.thread_id, add=(env.label("Done"),))
    env.sync()
    env.deliver("Lunch?", MORE, thread_id=place.thread_id)
    env.sync()
    (draft,) = env.mailbox.state().drafts
    assert draft["draft_id"] == old
    assert "My own words." in draft["raw"]

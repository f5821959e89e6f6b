"""Writing a draft: in its thread, once whatever happens to the answer, and never over a person's words."""

from datetime import timedelta
from email import message_from_string
from email.policy import default

import pytest

from domain.mail.correspondence import EmailState
from engine.process.runtime import Lease
from sandbox.emulator.control import MessagePlace
from tests.doubles.worlds import World

QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."
MORE = "Could you also tell me who else is coming? Please reply."


def ask(world: World, subject: str = "Lunch?", **options: object) -> MessagePlace:
    """A question that is taken in and classified, its draft still to be written."""
    world.sync()
    place = world.deliver(subject, QUESTION, **options)
    world.enqueue("gmail.sync")
    world.drain(only="gmail.%")
    world.drain(only="triage.%")
    return place


def made(world: World) -> int:
    """How many drafts were ever made at Gmail, whatever was answered."""
    return sum("draft_id" in call.summary for call in world.gmail.journal("drafts.create"))


def test_the_draft_stands_in_its_thread(world: World) -> None:
    place = ask(world, headers={"References": "<root@example.com>", "Message-ID": "<child@example.com>"})
    world.drain()
    (draft,) = world.mailbox.state().drafts
    assert draft["thread_id"] == place.thread_id
    assert not draft["ghost"]
    message = message_from_string(draft["raw"], policy=default)
    assert message["In-Reply-To"] == "<child@example.com>"
    assert message["References"].split()[0] == "<root@example.com>"
    assert message["References"].split()[-1] == "<child@example.com>"
    assert message["Subject"] == "Re: Lunch?"
    assert message["To"] == "Anna Example <anna@example.com>"
    assert message["From"] == world.account.email


def test_labels_go_on_the_mail_and_never_on_the_draft(world: World) -> None:
    place = ask(world)
    assert "Postroom/Needs Response" in world.mailbox.state().label_names(place.message_id)
    world.drain()
    state = world.mailbox.state()
    assert state.label_names(place.message_id) >= {"Postroom/Outbox", "INBOX"}
    assert state.label_names(state.drafts[0]["message_id"]) == {"DRAFT"}
    refused = [call for call in world.gmail.journal("messages.modify") if call.status != 200]
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
def test_a_lost_answer_leads_to_one_draft(world: World, order: dict[str, object], calls: int) -> None:
    place = ask(world)
    world.fail("drafts.create", **order)
    ends = world.drain()
    assert [end for job, end in ends if job == "drafts.write"] == ["queued", "succeeded"]
    assert len(world.mailbox.state().drafts) == made(world) == 1
    assert len(world.gmail.journal("drafts.create")) == calls
    assert world.email(place.thread_id).draft_id == world.mailbox.state().drafts[0]["draft_id"]
    assert len(world.model.journal("messages.create")) == 2, "a retry does not pay for the words again"


def test_a_draft_sent_before_its_record_was_kept_counts_as_sent(world: World) -> None:
    place = ask(world)
    world.fail("drafts.create", drop="after")
    row = world.database.execute("select id from jobs where job_type = 'drafts.write'").fetchone()
    assert row is not None
    assert world.run(row[0]) == "queued"
    world.mailbox.send_draft(world.mailbox.state().drafts[0]["draft_id"])
    world.drain()
    assert made(world) == 1
    assert world.job(row[0])["state"] == "succeeded"
    assert world.state(place.thread_id) is EmailState.SENT
    assert world.mailbox.state().label_names(place.message_id) == {"INBOX", "UNREAD"}


def test_two_questions_in_one_thread_get_one_draft(world: World) -> None:
    world.sync()
    place = world.deliver("Lunch?", QUESTION)
    world.deliver("Lunch?", MORE, thread_id=place.thread_id)
    world.sync()
    assert len(world.mailbox.state().drafts) == made(world) == 1


def test_a_question_after_the_draft_gets_no_second_draft(world: World) -> None:
    place = ask(world)
    world.drain()
    world.deliver("Lunch?", MORE, thread_id=place.thread_id)
    world.sync()
    assert len(world.mailbox.state().drafts) == made(world) == 1
    assert world.state(place.thread_id) is EmailState.DRAFTED


def test_a_question_after_the_answer_gets_its_own_draft(world: World) -> None:
    place = ask(world)
    world.drain()
    first = world.email(place.thread_id).draft_id
    world.mailbox.send_draft(first or "")
    world.sync()
    later = world.deliver("Re: Lunch?", MORE, thread_id=place.thread_id)
    world.sync()
    assert world.state(place.thread_id) is EmailState.DRAFTED
    assert world.email(place.thread_id).draft_id != first
    assert len(world.mailbox.state().drafts) == 1
    assert "Postroom/Outbox" in world.mailbox.state().label_names(later.message_id)


def test_whoever_has_answered_gets_no_draft(world: World) -> None:
    place = ask(world)
    world.deliver("Re: Lunch?", "Noon is fine.", thread_id=place.thread_id, label_ids=("SENT",))
    world.enqueue("gmail.sync")
    world.drain(only="gmail.%")
    world.drain()
    assert made(world) == 0
    assert world.state(place.thread_id) is EmailState.SKIPPED
    assert "Postroom/Needs Response" not in world.mailbox.state().label_names(place.message_id)
    assert len(world.model.journal("messages.create")) == 1


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
def test_words_that_cannot_be_used_leave_the_mail_to_its_person(world: World, answer: dict[str, object]) -> None:
    place = ask(world)
    world.say(**answer)
    ends = world.drain()
    assert ends[0] == ("drafts.write", "succeeded")
    assert made(world) == 0
    assert world.state(place.thread_id) is EmailState.SKIPPED
    names = world.mailbox.state().label_names(place.message_id)
    assert "Postroom/Action Required" in names
    assert "Postroom/Needs Response" not in names
    assert world.count("select count(*) from llm_calls where purpose = 'draft'") == 1


def test_mail_without_an_address_to_answer_is_left_to_its_person(world: World) -> None:
    place = ask(world, headers={"From": "Anna Example"})
    assert {end for _, end in world.drain()} <= {"succeeded"}
    assert made(world) == 0
    assert world.state(place.thread_id) is EmailState.SKIPPED


def test_a_thread_deleted_before_its_draft_is_written_ends_without_failure(world: World) -> None:
    place = ask(world)
    world.mailbox.delete_thread(place.thread_id)
    assert world.drain()[0] == ("drafts.write", "succeeded")
    assert world.state(place.thread_id) is EmailState.SKIPPED


def test_a_draft_nobody_waits_for_any_more_is_taken_back(world: World) -> None:
    """The person is done with the thread while its draft is on its way: after the last look, before the record."""
    place = ask(world)
    world.process.lease = BusyPerson(world)
    assert world.drain(only="drafts.%") == [("drafts.write", "succeeded")]
    assert made(world) == 1
    assert world.mailbox.state().drafts == []
    assert world.state(place.thread_id) is EmailState.ARCHIVED
    assert "Postroom/Outbox" not in world.mailbox.state().label_names(place.message_id)


class BusyPerson(Lease):
    """Is asked for its margin right before each outside effect, and uses the moment."""

    def __init__(self, world: World) -> None:
        super().__init__(timedelta(minutes=1))
        self._world = world

    def margin(self) -> timedelta:
        self._world.database.execute(
            "update emails set state = 'archived' where state = 'pending' and draft_token is not null"
        )
        return super().margin()


def test_an_old_untouched_draft_makes_way_for_the_new_one(world: World) -> None:
    place = ask(world)
    world.drain()
    old = world.email(place.thread_id).draft_id
    world.mailbox.label_thread(place.thread_id, add=(world.label("Done"),))
    world.sync()
    assert world.state(place.thread_id) is EmailState.ARCHIVED
    world.deliver("Lunch?", MORE, thread_id=place.thread_id)
    world.sync()
    (draft,) = world.mailbox.state().drafts
    assert draft["draft_id"] != old
    assert world.email(place.thread_id).draft_id == draft["draft_id"]


def test_an_old_draft_with_a_persons_words_stays_alone(world: World) -> None:
    place = ask(world)
    world.drain()
    old = world.email(place.thread_id).draft_id or ""
    world.mailbox.edit_draft(old, text="My own words.")
    world.sync()
    world.mailbox.label_thread(place.thread_id, add=(world.label("Done"),))
    world.sync()
    world.deliver("Lunch?", MORE, thread_id=place.thread_id)
    world.sync()
    (draft,) = world.mailbox.state().drafts
    assert draft["draft_id"] == old
    assert "My own words." in draft["raw"]

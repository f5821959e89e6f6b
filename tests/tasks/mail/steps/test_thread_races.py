"""What happens to a thread while a job waits for the model: nothing is written from facts that are no longer true."""

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
from celery import current_task

from domain.mail.correspondence import EmailState
from domain.mail.replies.drafting import DRAFT_TOOL
from domain.mail.triage.prompts import CLASSIFY_TOOL
from engine.runtime import Lease
from sandbox.emulator.control import MessagePlace
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.meanwhile import Meanwhile
from tests.tasks.mail.drafts.test_drafts import MORE, QUESTION, ask, made

NEWS = "For your information only."


class ActsOnce(Lease):
    """Is asked for its margin right before each outside effect, and lets something happen before the first."""

    def __init__(self, act: Callable[[], object]) -> None:
        super().__init__(timedelta(minutes=1))
        self._todo = [act]

    def margin(self) -> timedelta:
        if self._todo and current_task:  # the worker's loop asks, too, while no job runs
            self._todo.pop()()
        return super().margin()


def sync_mail(env: MailEnvironment, *families: str) -> None:
    env.enqueue("gmail.sync")
    for family in ("gmail.%", *families):
        env.drain(only=family)


def queued(env: MailEnvironment, job_type: str) -> list[UUID]:
    rows = env.database.execute(
        "select id from jobs where job_type = %s and state = 'queued' order by id", (job_type,)
    ).fetchall()
    return [row[0] for row in rows]


def labels_of(env: MailEnvironment, place: MessagePlace) -> set[str]:
    return {name for name in env.mailbox.state().label_names(place.message_id) if name.startswith("Postroom/")}


def answers_paid(env: MailEnvironment, purpose: str) -> int:
    return env.count("select count(*) from llm_calls where purpose = %s", purpose)


@pytest.mark.parametrize("news_first", [True, False])
def test_a_question_is_not_buried_by_news_of_its_own_thread(
    env: MailEnvironment, meanwhile: Meanwhile, news_first: bool
) -> None:
    """Two messages of one thread are classified at the same moment: whoever comes second goes on from the first."""
    env.sync()
    texts = [NEWS, QUESTION] if news_first else [QUESTION, NEWS]
    place = env.deliver("Deployment", texts[1])
    env.deliver("Deployment", texts[0], thread_id=place.thread_id)
    sync_mail(env)
    outer, inner = queued(env, "triage.classify")
    meanwhile(CLASSIFY_TOOL, lambda: env.run(inner))
    assert env.run(outer) == "succeeded"
    assert env.state(place.thread_id) is EmailState.PENDING
    env.drain()
    assert made(env) == 1


def test_a_question_after_a_sent_draft_is_drafted_though_the_record_learns_of_it_late(
    env: MailEnvironment, meanwhile: Meanwhile
) -> None:
    """The draft is sent and the next question comes; the record becomes sent while the question is with the model."""
    place = ask(env)
    env.drain()
    first = env.email(place.thread_id).draft_id or ""
    env.mailbox.send_draft(first)
    later = env.deliver("Re: Lunch?", MORE, thread_id=place.thread_id)
    sync_mail(env)
    assert env.state(place.thread_id) is EmailState.DRAFTED
    meanwhile(CLASSIFY_TOOL, lambda: env.drain(only="threads.%"))
    env.drain(only="triage.%")
    env.drain()
    assert env.state(place.thread_id) is EmailState.DRAFTED
    assert env.email(place.thread_id).draft_id != first
    assert labels_of(env, later) == {"Postroom/Outbox"}
    assert answers_paid(env, "classify") == 2, "planning again does not pay again"


def test_a_draft_discarded_while_a_second_question_is_classified_makes_room_for_another(
    env: MailEnvironment, meanwhile: Meanwhile
) -> None:
    place = ask(env)
    env.drain()
    first = env.email(place.thread_id).draft_id or ""
    later = env.deliver("Re: Lunch?", MORE, thread_id=place.thread_id)
    sync_mail(env)

    def discard() -> None:
        env.mailbox.discard_draft(first)
        sync_mail(env, "threads.%")

    meanwhile(CLASSIFY_TOOL, discard)
    env.drain()
    (draft,) = env.mailbox.state().drafts
    assert env.email(place.thread_id).draft_id == draft["draft_id"] != first
    assert labels_of(env, later) == {"Postroom/Outbox"}


def test_a_draft_sent_after_a_second_question_has_come_answers_it(env: MailEnvironment, meanwhile: Meanwhile) -> None:
    """The person wrote last: nobody waits for a draft, and the record says so."""
    place = ask(env)
    env.drain()
    later = env.deliver("Re: Lunch?", MORE, thread_id=place.thread_id)
    sync_mail(env)

    def send() -> None:
        env.mailbox.send_draft(env.email(place.thread_id).draft_id or "")
        sync_mail(env, "threads.%")

    meanwhile(CLASSIFY_TOOL, send)
    env.drain()
    assert made(env) == 1
    assert env.state(place.thread_id) is EmailState.SKIPPED
    assert labels_of(env, later) == set()


@pytest.mark.parametrize("with_record", [False, True])
def test_done_while_a_message_is_classified_leaves_the_thread_archived(
    env: MailEnvironment, meanwhile: Meanwhile, with_record: bool
) -> None:
    env.sync()
    done = env.label("Done")
    place = env.deliver("Lunch?", QUESTION)
    if with_record:
        sync_mail(env, "triage.%")
        place = env.deliver("Re: Lunch?", MORE, thread_id=place.thread_id)
    sync_mail(env)

    def finish() -> None:
        env.mailbox.label_thread(place.thread_id, add=(done,))
        sync_mail(env, "threads.%")

    meanwhile(CLASSIFY_TOOL, finish)
    env.drain(only="triage.%")
    env.drain()
    assert made(env) == 0
    assert labels_of(env, place) == set()
    assert "INBOX" not in env.mailbox.state().label_names(place.message_id)
    assert env.state(place.thread_id) is (EmailState.ARCHIVED if with_record else EmailState.SKIPPED)


def test_a_message_put_away_while_no_model_can_decide_it_is_not_shown_to_its_person(
    env: MailEnvironment, meanwhile: Meanwhile
) -> None:
    env.sync()
    place = env.deliver("Lunch?", QUESTION)
    sync_mail(env)
    env.say(stop_reason="refusal")

    def put_away() -> None:
        env.mailbox.label_thread(place.thread_id, remove=("INBOX",))
        sync_mail(env)

    meanwhile(CLASSIFY_TOOL, put_away)
    assert env.drain(only="triage.%") == [("triage.classify", "queued"), ("triage.classify", "succeeded")]
    assert labels_of(env, place) == set()
    assert answers_paid(env, "classify") == 1


def test_a_record_begun_while_its_thread_is_archived_is_archived_with_it(
    env: MailEnvironment,
) -> None:
    """The other way round: the cleanup has read that there is no record, and then the classification writes one."""
    env.sync()
    done = env.label("Done")
    place = env.deliver("Lunch?", QUESTION)
    sync_mail(env)
    (classification,) = queued(env, "triage.classify")
    env.mailbox.label_thread(place.thread_id, add=(done,))
    sync_mail(env)
    (cleanup,) = queued(env, "threads.cleanup")
    env.process.lease = ActsOnce(lambda: env.run(classification))
    assert env.run(cleanup) == "queued"
    env.drain(only="threads.%")
    env.drain()
    assert env.state(place.thread_id) is EmailState.ARCHIVED
    assert labels_of(env, place) == set()
    assert env.mailbox.state().drafts == []


def test_a_person_who_answers_while_the_draft_is_written_gets_none(env: MailEnvironment, meanwhile: Meanwhile) -> None:
    place = ask(env)

    def answer() -> None:
        env.deliver("Re: Lunch?", "Noon is fine.", thread_id=place.thread_id, label_ids=("SENT",))
        sync_mail(env, "triage.%", "threads.%")

    meanwhile(DRAFT_TOOL, answer)
    env.drain()
    assert made(env) == 0
    assert env.state(place.thread_id) is EmailState.SKIPPED
    assert labels_of(env, place) == set()
    assert answers_paid(env, "draft") == 1


def test_a_second_question_while_the_draft_is_written_is_answered_by_it(
    env: MailEnvironment, meanwhile: Meanwhile
) -> None:
    place = ask(env)
    later: list[MessagePlace] = []

    def ask_more() -> None:
        later.append(env.deliver("Lunch?", MORE, thread_id=place.thread_id))
        sync_mail(env, "triage.%")

    prompts = meanwhile(DRAFT_TOOL, ask_more)
    env.drain()
    assert made(env) == len(env.mailbox.state().drafts) == 1
    assert env.state(place.thread_id) is EmailState.DRAFTED
    assert [labels_of(env, one) for one in (place, *later)] == [{"Postroom/Outbox"}] * 2
    assert ["who else is coming" in prompt.mail for prompt in prompts] == [False, True]
    assert answers_paid(env, "draft") == 2


def test_a_question_that_comes_while_an_answered_thread_is_closed_is_not_lost(
    env: MailEnvironment,
) -> None:
    """The person has answered, `drafts.write` takes the labels off, and the next question is there before it ends."""
    place = ask(env)
    env.deliver("Re: Lunch?", "Noon is fine.", thread_id=place.thread_id, label_ids=("SENT",))
    sync_mail(env)

    def ask_more() -> None:
        env.deliver("Lunch?", MORE, thread_id=place.thread_id)
        sync_mail(env, "triage.%")

    (job_id,) = queued(env, "drafts.write")
    env.process.lease = ActsOnce(ask_more)
    assert env.run(job_id) == "succeeded"
    env.drain()
    assert made(env) == 1
    assert env.state(place.thread_id) is EmailState.DRAFTED

"""Rework: what a person writes above the machine's words is done, and their own text is never written over."""

import base64
from collections.abc import Callable
from datetime import timedelta
from email.message import EmailMessage

import pytest

from domain.mail.correspondence import EmailState
from domain.mail.mailbox import Draft
from domain.mail.outgoing.outgoing_mail import TOKEN_HEADER
from domain.mail.replies.drafting import DRAFT_TOOL
from providers.google.gmail import GmailMailbox
from sandbox.emulator.control import MessagePlace
from tests.doubles.mail_environment import OWNER, MailEnvironment
from tests.doubles.meanwhile import Meanwhile
from tests.tasks.mail.drafts.reworks import (
    FIRST,
    SECOND,
    draft_id,
    drafted,
    labels_of,
    only_draft,
    prompts,
    put_rework,
    rework,
    rework_job,
    words,
)


def test_an_instruction_above_the_words_leads_to_another_draft(env: MailEnvironment, meanwhile: Meanwhile) -> None:
    place = drafted(env)
    old = env.email(place.thread_id)
    env.mailbox.edit_draft(draft_id(env, place), text=f"Shorter, please.\n\n{FIRST}")
    seen = meanwhile(DRAFT_TOOL, lambda: None)
    rework(env, place)
    draft, message = only_draft(env)
    now = env.email(place.thread_id)
    assert words(env) == " ".join(SECOND.split())
    assert (now.state, now.rework_count, now.draft_id) == (EmailState.DRAFTED, 1, draft["draft_id"])
    assert now.draft_token != old.draft_token
    assert message[TOKEN_HEADER] == now.draft_token
    assert labels_of(env, place) == {"Postroom/Outbox"}
    (prompt,) = seen
    assert "asks for this: Shorter, please.\n" in prompt.mail
    assert "noon on Friday suits me well." in prompt.mail
    assert prompts(env) == 1


def test_the_new_draft_stays_in_its_thread(env: MailEnvironment) -> None:
    place = drafted(env)
    rework(env, place)
    draft, message = only_draft(env)
    assert (draft["thread_id"], draft["ghost"]) == (place.thread_id, False)
    assert message["In-Reply-To"] == "<child@example.com>"
    assert message["References"].split()[0] == "<root@b.c>"
    assert message["References"].split()[-1] == "<child@example.com>"
    assert (message["Subject"], message["To"]) == ("Re: Lunch?", "Anna Example <anna@example.com>")


def test_our_own_rework_comes_back_as_history_and_changes_nothing(env: MailEnvironment) -> None:
    place = drafted(env)
    rework(env, place)
    before = env.email(place.thread_id)
    assert {job for job, _ in env.sync()} <= {"gmail.sync", "threads.cleanup"}
    assert [job for job, _ in env.sync()] == ["gmail.sync"]
    assert env.email(place.thread_id) == before


@pytest.mark.parametrize("text", [None, " \n "], ids=["untouched", "emptied"])
def test_without_an_instruction_there_is_another_version(
    env: MailEnvironment, meanwhile: Meanwhile, text: str | None
) -> None:
    """Nobody's words are lost by it."""
    place = drafted(env)
    if text is not None:
        env.mailbox.edit_draft(draft_id(env, place), text=text)
    seen = meanwhile(DRAFT_TOOL, lambda: None)
    rework(env, place)
    assert words(env) == " ".join(SECOND.split())
    assert env.email(place.thread_id).rework_count == 1
    assert "asks for this: another version" in seen[0].mail


def with_file(text: str) -> str:
    """A draft as a client saves it with a file, base64url."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = OWNER, "anna@example.com", "Re: Lunch?"
    message["In-Reply-To"] = "<child@example.com>"
    message.set_content(text)
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="menu.pdf")
    return base64.urlsafe_b64encode(message.as_bytes()).decode()


THEIRS = {
    "words": {"text": FIRST.replace("noon", "one o'clock")},
    "both": {"text": f"Shorter, please.\n\n{FIRST.replace('noon', 'one')}"},
    "below": {"text": f"{FIRST}\nAnna Owner"},
    "replaced": {"text": "I will call you."},
    "file": {"raw": with_file(f"Shorter, please.\n\n{FIRST}")},
}


@pytest.mark.parametrize("edit", THEIRS.values(), ids=THEIRS)
def test_a_persons_own_text_is_left_and_they_are_told(env: MailEnvironment, edit: dict[str, str]) -> None:
    place = drafted(env)
    env.mailbox.edit_draft(draft_id(env, place), **edit)
    theirs = only_draft(env)[0]["raw"]
    put_rework(env, place)
    env.sync()
    assert only_draft(env)[0]["raw"] == theirs
    assert labels_of(env, place) == {"Postroom/Outbox", "Postroom/Action Required"}
    assert (env.state(place.thread_id), env.email(place.thread_id).rework_count) == (EmailState.DRAFTED, 0)
    assert prompts(env) == 0
    env.mailbox.send_draft(draft_id(env, place))
    env.sync()
    assert env.state(place.thread_id) is EmailState.SENT
    assert labels_of(env, place) == set()


def test_an_edited_subject_and_recipients_stay_as_they_are(env: MailEnvironment) -> None:
    """The words are written anew; what stands above them is its person's, in the thread that it moved the draft to."""
    place = drafted(env)
    raw = only_draft(env)[0]["raw"].replace("Subject: Re: Lunch?", "Subject: Supper instead\r\nCc: bob@example.com")
    moved = env.mailbox.edit_draft(draft_id(env, place), raw=base64.urlsafe_b64encode(raw.encode()).decode())
    assert moved.thread_id != place.thread_id
    rework(env, place)
    draft, message = only_draft(env)
    assert words(env) == " ".join(SECOND.split())
    assert (message["Subject"], message["Cc"]) == ("Supper instead", "bob@example.com")
    assert (draft["thread_id"], draft["draft_id"]) == (moved.thread_id, draft_id(env, place))
    env.mailbox.label_thread(place.thread_id, add=(env.label("Done"),))
    env.sync()
    assert len(env.mailbox.state().drafts) == 1, "the edit keeps the draft from being discarded"


def test_after_three_reworks_the_draft_is_left_to_its_person(env: MailEnvironment) -> None:
    place = drafted(env)
    for number in range(3):
        rework(env, place, body=f"Version {number}.")
        assert env.email(place.thread_id).rework_count == number + 1
    put_rework(env, place)
    env.sync()
    assert prompts(env) == 3
    assert words(env) == "Version 2."
    assert env.state(place.thread_id) is EmailState.SKIPPED
    assert labels_of(env, place) == {"Postroom/Action Required"}
    put_rework(env, place)
    env.sync()
    assert (prompts(env), words(env), env.state(place.thread_id)) == (3, "Version 2.", EmailState.SKIPPED)
    assert labels_of(env, place) == {"Postroom/Action Required"}


def test_a_draft_sent_before_the_rework_stays_sent(env: MailEnvironment) -> None:
    place = drafted(env)
    put_rework(env, place)
    job_id = rework_job(env)
    env.mailbox.send_draft(draft_id(env, place))
    assert env.run(job_id) == "succeeded"
    env.drain()
    env.sync()
    assert (prompts(env), env.mailbox.state().drafts) == (0, [])
    assert env.state(place.thread_id) is EmailState.SENT
    assert labels_of(env, place) == set()


def test_a_draft_deleted_before_the_rework_is_not_brought_back(env: MailEnvironment) -> None:
    place = drafted(env)
    put_rework(env, place)
    job_id = rework_job(env)
    env.mailbox.discard_draft(draft_id(env, place))
    assert env.run(job_id) == "succeeded"
    env.drain()
    env.sync()
    assert (prompts(env), env.mailbox.state().drafts) == (0, [])
    assert env.state(place.thread_id) is EmailState.SKIPPED
    assert labels_of(env, place) == set()


@pytest.mark.parametrize(("act", "state"), [("send_draft", EmailState.SENT), ("discard_draft", EmailState.SKIPPED)])
def test_a_draft_that_goes_while_the_model_writes_is_not_brought_back(
    env: MailEnvironment, meanwhile: Meanwhile, act: str, state: EmailState
) -> None:
    place = drafted(env)
    meanwhile(DRAFT_TOOL, lambda: getattr(env.mailbox, act)(draft_id(env, place)))
    rework(env, place)
    env.sync()
    assert env.mailbox.state().drafts == []
    assert env.state(place.thread_id) is state
    assert env.email(place.thread_id).rework_count == 0
    assert labels_of(env, place) == set()


def test_words_edited_while_the_model_writes_are_kept(env: MailEnvironment, meanwhile: Meanwhile) -> None:
    place = drafted(env)
    meanwhile(DRAFT_TOOL, lambda: env.mailbox.edit_draft(draft_id(env, place), text="My own words."))
    rework(env, place)
    assert words(env) == "My own words."
    assert (env.state(place.thread_id), env.email(place.thread_id).rework_count) == (EmailState.DRAFTED, 0)
    assert labels_of(env, place) == {"Postroom/Outbox", "Postroom/Action Required"}
    env.sync()
    assert env.email(place.thread_id).draft_message_id == only_draft(env)[0]["message_id"]


def test_an_instruction_written_while_the_model_writes_is_read_anew(env: MailEnvironment, meanwhile: Meanwhile) -> None:
    place = drafted(env)
    seen = meanwhile(DRAFT_TOOL, lambda: env.mailbox.edit_draft(draft_id(env, place), text=f"In French.\n{FIRST}"))
    rework(env, place)
    assert ["In French." in one.mail for one in seen] == [False, True]
    assert env.email(place.thread_id).rework_count == 1
    assert labels_of(env, place) == {"Postroom/Outbox"}


def test_done_while_the_model_writes_wins(env: MailEnvironment, meanwhile: Meanwhile) -> None:
    place = drafted(env)
    done = env.label("Done")

    def finish() -> None:
        env.mailbox.label_thread(place.thread_id, add=(done,))
        env.enqueue("gmail.sync")
        for family in ("gmail.%", "threads.%"):
            env.drain(only=family)

    meanwhile(DRAFT_TOOL, finish)
    rework(env, place)
    assert env.mailbox.state().drafts == []
    assert env.state(place.thread_id) is EmailState.ARCHIVED
    assert labels_of(env, place) == set()


@pytest.mark.parametrize("answer", [{"stop_reason": "refusal"}, {"input": {"body": " ", "confidence": 0.9}}])
def test_words_that_cannot_be_used_leave_the_draft_as_it_is(env: MailEnvironment, answer: dict[str, object]) -> None:
    place = drafted(env)
    put_rework(env, place)
    job_id = rework_job(env)
    env.say(**answer)
    assert env.run(job_id) == "succeeded"
    assert words(env) == " ".join(FIRST.split())
    assert (env.state(place.thread_id), env.email(place.thread_id).rework_count) == (EmailState.DRAFTED, 0)
    assert labels_of(env, place) == {"Postroom/Outbox", "Postroom/Action Required"}
    rework(env, place)
    assert words(env) == " ".join(SECOND.split())
    assert labels_of(env, place) == {"Postroom/Outbox"}


LOST = [{"drop": "after"}, {"status": 503, "after_execution": True}, {"drop": "before"}, {"status": 503}]


@pytest.mark.parametrize("order", LOST, ids=["dropped", "503 after", "lost before", "503 before"])
def test_a_lost_answer_is_found_out(env: MailEnvironment, order: dict[str, object]) -> None:
    place = drafted(env)
    env.fail("drafts.update", **order)
    rework(env, place)
    assert words(env) == " ".join(SECOND.split())
    assert sum("draft_id" in call.summary for call in env.gmail.journal("drafts.update")) == 1
    assert (env.email(place.thread_id).rework_count, prompts(env)) == (1, 1)


def edits(env: MailEnvironment, place: MessagePlace) -> None:
    env.mailbox.edit_draft(draft_id(env, place), text="My own words.")


def composes(env: MailEnvironment, place: MessagePlace) -> None:
    env.mailbox.edit_draft(draft_id(env, place), raw=with_file("My own words."))


def sends(env: MailEnvironment, place: MessagePlace) -> None:
    env.mailbox.send_draft(draft_id(env, place))


def deletes(env: MailEnvironment, place: MessagePlace) -> None:
    env.mailbox.discard_draft(draft_id(env, place))


@pytest.mark.parametrize("order", LOST, ids=["dropped", "503 after", "lost before", "503 before"])
@pytest.mark.parametrize(
    ("deed", "state", "drafts"),
    [
        (edits, EmailState.DRAFTED, 1),
        (composes, EmailState.DRAFTED, 1),
        (sends, EmailState.SENT, 0),
        (deletes, EmailState.SKIPPED, 0),
    ],
)
def test_a_lost_answer_costs_nobody_a_word(
    env: MailEnvironment,
    order: dict[str, object],
    deed: Callable[[MailEnvironment, MessagePlace], None],
    state: EmailState,
    drafts: int,
) -> None:
    place = drafted(env)
    put_rework(env, place)
    job_id = rework_job(env)
    env.fail("drafts.update", **order)
    assert env.run(job_id) == "queued"
    deed(env, place)
    env.drain()
    env.sync()
    left = env.mailbox.state().drafts
    assert [b"My own words." in env.mailbox.raw(one["message_id"]) for one in left] == [True] * drafts
    assert env.state(place.thread_id) is state
    assert "Postroom/Rework" not in labels_of(env, place)
    assert env.count("select count(*) from idempotency_keys where kind = 'effect' and status = 'running'") == 0


def test_twice_at_once_is_once(env: MailEnvironment) -> None:
    place = drafted(env)
    put_rework(env, place)
    first = rework_job(env)
    put_rework(env, place)
    assert env.run(first) == "succeeded"
    env.enqueue("drafts.rework", {"thread_id": place.thread_id})
    env.sync()
    assert (env.email(place.thread_id).rework_count, prompts(env)) == (1, 1)


def test_another_job_waits_for_the_one_that_reworks(env: MailEnvironment) -> None:
    place = drafted(env)
    put_rework(env, place)
    first = rework_job(env)
    env.fail("drafts.update", drop="before")
    assert env.run(first) == "queued"
    second = env.enqueue("drafts.rework", {"email_id": str(env.email(place.thread_id).email_id)})
    assert env.run(second) == "queued"
    env.drain()
    assert {env.job(one)["state"] for one in (first, second)} == {"succeeded"}
    assert (env.email(place.thread_id).rework_count, prompts(env)) == (1, 1)


def test_a_rework_whose_label_was_taken_off_again_is_none(env: MailEnvironment) -> None:
    place = drafted(env)
    put_rework(env, place)
    job_id = rework_job(env)
    env.mailbox.label_thread(place.thread_id, remove=(env.label("Rework"),))
    assert env.run(job_id) == "succeeded"
    assert words(env) == " ".join(FIRST.split())


@pytest.mark.parametrize("with_record", [True, False])
def test_rework_on_a_thread_without_a_draft_orders_the_first(env: MailEnvironment, with_record: bool) -> None:
    env.sync()
    label = env.label("Rework")
    place = env.deliver("Note", "For your information only.")
    env.sync()
    if not with_record:
        env.database.execute("delete from emails")
    env.mailbox.label_thread(place.thread_id, add=(label,))
    env.sync()
    assert len(env.mailbox.state().drafts) == 1
    assert (env.state(place.thread_id), env.email(place.thread_id).rework_count) == (EmailState.DRAFTED, 0)
    assert labels_of(env, place) == {"Postroom/Outbox"}


def test_a_rework_of_a_thread_that_is_gone_ends_without_failure(env: MailEnvironment) -> None:
    place = drafted(env)
    put_rework(env, place)
    job_id = rework_job(env)
    env.mailbox.delete_thread(place.thread_id)
    assert env.run(job_id) == "succeeded"
    env.drain()
    env.sync()
    assert env.state(place.thread_id) is EmailState.SKIPPED


def test_a_process_that_is_frozen_between_its_look_and_its_change_replaces_nothing(
    env: MailEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another attempt has replaced the draft by then, and its person may have worked on it."""
    place = drafted(env)
    put_rework(env, place)
    job_id = rework_job(env)
    look, monotonic, frozen_for = GmailMailbox.draft, env.process.monotonic, timedelta()
    env.process.monotonic = lambda: monotonic() + frozen_for.total_seconds()

    def looked(mailbox: GmailMailbox, draft_id: str) -> Draft:
        nonlocal frozen_for
        found = look(mailbox, draft_id)
        if env.count("select count(*) from idempotency_keys where key like 'rework:%%' and status = 'running'"):
            frozen_for = env.process.call_time
        return found

    monkeypatch.setattr(GmailMailbox, "draft", looked)
    env.say(input={"body": SECOND, "confidence": 0.9})
    env.run(job_id)
    assert env.gmail.journal("drafts.update") == []
    monkeypatch.undo()
    env.drain()
    assert words(env) == " ".join(SECOND.split())
    assert len(env.gmail.journal("drafts.update")) == 1

"""One machine draft per thread, whatever became of Gmail's answer and whatever its person did meanwhile.

Findings B3 and B6: never a second draft, and never one brought back that a person has thrown away.
"""

import base64
from collections.abc import Callable
from email.message import EmailMessage
from typing import Any
from uuid import UUID

import pytest

from domain.mail.correspondence import EmailState
from domain.mail.outgoing.outgoing_mail import TOKEN_HEADER
from providers.google.gmail import GmailMailbox
from sandbox.emulator.control import MessagePlace
from tests.doubles.factories import unmetered
from tests.doubles.mail_environment import OWNER, MailEnvironment

QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."
OWN_WORDS = "My own words."

MADE: dict[str, dict[str, Any]] = {
    "dropped": {"drop": "after"},
    "reset": {"ending": "reset"},
    "504": {"status": 504, "after_execution": True},
    "hang": {"hang_s": 1.2},
    "cut off": {"ending": "cut"},
    "no JSON": {"status": 200, "after_execution": True, "text": "<html>Sorry</html>"},
    "empty": {"status": 200, "after_execution": True, "text": ""},
}
"""How the answer is lost after the draft was made."""

NOT_MADE: dict[str, dict[str, Any]] = {"lost before": {"drop": "before"}, "503 before": {"status": 503}}
"""How it is lost before."""

HANG_LIMIT_S = 0.6

Deed = Callable[[MailEnvironment, MessagePlace], object]


def our_drafts(env: MailEnvironment, place: MessagePlace) -> list[dict[str, Any]]:
    """The drafts in the mailbox that carry our token and belong to a thread, wherever they lie now."""
    subject = (env.mailbox.state().message(place.message_id) or {})["rfc822_message_id"]
    return [one for one in env.mailbox.state().drafts if subject in one["raw"] and TOKEN_HEADER in one["raw"]]


def the_draft(env: MailEnvironment, place: MessagePlace) -> str:
    (draft,) = our_drafts(env, place)
    return str(draft["draft_id"])


def own_letter(env: MailEnvironment, place: MessagePlace, subject: str = "") -> bytes:
    """A reply as the person's client composes it: in the conversation, without anything of ours."""
    asked = env.mailbox.state().message(place.message_id) or {}
    message = EmailMessage()
    message["From"], message["To"] = OWNER, "anna@example.com"
    message["Subject"] = subject or f"Re: {asked['subject']}"
    message["In-Reply-To"] = message["References"] = asked["rfc822_message_id"]
    message.set_content(OWN_WORDS)
    return message.as_bytes()


def does_nothing(_env: MailEnvironment, _place: MessagePlace) -> None:
    """Does not look."""


def sends(env: MailEnvironment, place: MessagePlace) -> None:
    env.mailbox.send_draft(the_draft(env, place))


def edits_words(env: MailEnvironment, place: MessagePlace) -> None:
    env.mailbox.edit_draft(the_draft(env, place), text=OWN_WORDS)


def edits_subject(env: MailEnvironment, place: MessagePlace) -> None:
    moved = env.mailbox.edit_draft(the_draft(env, place), subject="Supper instead")
    assert moved.thread_id != place.thread_id


def edits_subject_and_sends(env: MailEnvironment, place: MessagePlace) -> None:
    draft_id = the_draft(env, place)
    env.mailbox.edit_draft(draft_id, subject="Supper instead")
    env.mailbox.send_draft(draft_id)


def composes_anew(env: MailEnvironment, place: MessagePlace) -> None:
    raw = base64.urlsafe_b64encode(own_letter(env, place)).decode()
    env.mailbox.edit_draft(the_draft(env, place), raw=raw)


def composes_anew_elsewhere(env: MailEnvironment, place: MessagePlace) -> None:
    raw = base64.urlsafe_b64encode(own_letter(env, place, "Supper instead")).decode()
    moved = env.mailbox.edit_draft(the_draft(env, place), raw=raw)
    assert moved.thread_id != place.thread_id


def composes_anew_and_sends(env: MailEnvironment, place: MessagePlace) -> None:
    draft_id = the_draft(env, place)
    composes_anew(env, place)
    env.mailbox.send_draft(draft_id)


def deletes(env: MailEnvironment, place: MessagePlace) -> None:
    env.mailbox.discard_draft(the_draft(env, place))


def begins_own(env: MailEnvironment, place: MessagePlace) -> None:
    """Writes a draft of their own."""
    with GmailMailbox(
        account=OWNER, access_token="access-1", timeout_s=10, meter=unmetered, endpoint=env.gmail.url
    ) as mailbox:
        mailbox.create_draft(own_letter(env, place), thread_id=place.thread_id)


def discards_and_begins_own(env: MailEnvironment, place: MessagePlace) -> None:
    deletes(env, place)
    begins_own(env, place)


def discards_own(env: MailEnvironment, place: MessagePlace) -> None:
    """Begins an answer, thinks better of it, and throws it away with ours."""
    discards_and_begins_own(env, place)
    (own,) = [one for one in env.mailbox.state().drafts if one["thread_id"] == place.thread_id]
    env.mailbox.discard_draft(own["draft_id"])


DEEDS: list[tuple[Deed, EmailState, int, int]] = [
    # What the person does; the record's state, and how many drafts of ours and in all there are then.
    (does_nothing, EmailState.DRAFTED, 1, 1),
    (sends, EmailState.SENT, 0, 0),
    (edits_words, EmailState.DRAFTED, 1, 1),
    (edits_subject, EmailState.DRAFTED, 1, 1),
    (edits_subject_and_sends, EmailState.SENT, 0, 0),
    (composes_anew, EmailState.DRAFTED, 0, 1),
    (composes_anew_elsewhere, EmailState.DRAFTED, 0, 1),
    (composes_anew_and_sends, EmailState.SENT, 0, 0),
    (deletes, EmailState.SKIPPED, 0, 0),
    (discards_and_begins_own, EmailState.DRAFTED, 0, 1),
    (discards_own, EmailState.SKIPPED, 0, 0),
]


def unsettled(env: MailEnvironment, name: str, order: dict[str, Any]) -> tuple[MessagePlace, UUID]:
    """A question whose draft was tried to be made, and whose job does not know what came of it."""
    env.sync()
    place = env.deliver(f"Lunch, {name}?", QUESTION, headers={"Message-ID": f"<{name.replace(' ', '-')}@example.com>"})
    env.enqueue("gmail.sync")
    for family in ("gmail.%", "triage.%"):
        env.drain(only=family)
    row = env.database.execute("select id from jobs where job_type = 'drafts.write' and state = 'queued'").fetchone()
    assert row is not None
    usual = env.process.settings
    if "hang_s" in order:
        env.process.settings = usual.model_copy(update={"google_request_timeout_s": HANG_LIMIT_S})
    env.fail("drafts.create", **order)
    assert env.run(row[0]) == "queued"
    env.process.settings = usual
    return place, UUID(str(row[0]))


def creates(env: MailEnvironment) -> int:
    """How many drafts were ever made, by whomever."""
    return sum("draft_id" in call.summary for call in env.gmail.journal("drafts.create"))


def open_effects(env: MailEnvironment) -> int:
    return env.count("select count(*) from idempotency_keys where kind = 'effect' and status in ('running', 'unknown')")


def check(env: MailEnvironment, place: MessagePlace, state: EmailState, ours: int, in_all: int, made: int) -> None:
    """The thread is as the person left it, and stays so when history has told of everything."""
    answers = (env.mailbox.state().message(place.message_id) or {})["rfc822_message_id"]
    for settle in (env.drain, env.sync):
        settle()
        drafts = [one for one in env.mailbox.state().drafts if answers in one["raw"]]
        assert (len(our_drafts(env, place)), len(drafts)) == (ours, in_all)
        assert env.state(place.thread_id) is state
        assert creates(env) == made
        assert open_effects(env) == 0
        assert env.email(place.thread_id).draft_id == (drafts[0]["draft_id"] if drafts else None) or not drafts
    assert env.count("select count(*) from jobs where state in ('dead', 'failed')") == 0


WAYS = list(MADE)
VARIANTS = [
    # Every way with nobody about; and every deed with two ways, once before and once after history has told of it.
    *(pytest.param(*DEEDS[0], way, False, id=f"does_nothing-{way}") for way in WAYS),
    *(
        pytest.param(*deed, WAYS[(number + 3 * told) % len(WAYS)], told, id=f"{deed[0].__name__}-{told}")
        for number, deed in enumerate(DEEDS[1:])
        for told in (False, True)
    ),
]


@pytest.mark.parametrize(("deed", "state", "ours", "in_all", "way", "told"), VARIANTS)
def test_whatever_the_person_does_there_is_one_draft_at_most(  # the parts of a variant
    env: MailEnvironment, deed: Deed, state: EmailState, ours: int, in_all: int, way: str, told: bool
) -> None:
    place, _ = unsettled(env, way, MADE[way])
    assert creates(env) == 1
    deed(env, place)
    if told:
        env.enqueue("gmail.sync")
        for family in ("gmail.%", "threads.%", "triage.%"):
            env.drain(only=family)
    check(env, place, state, ours, in_all, made=creates(env))


@pytest.mark.parametrize("name", NOT_MADE)
def test_what_was_never_made_is_made_once(env: MailEnvironment, name: str) -> None:
    place, _ = unsettled(env, name, NOT_MADE[name])
    check(env, place, EmailState.DRAFTED, 1, 1, made=1)


@pytest.mark.parametrize("name", NOT_MADE)
def test_a_draft_that_the_person_began_meanwhile_stays_alone(env: MailEnvironment, name: str) -> None:
    """Nobody can tell it from ours composed anew, and a second draft beside it would be wrong either way."""
    place, _ = unsettled(env, name, NOT_MADE[name])
    begins_own(env, place)
    check(env, place, EmailState.DRAFTED, 0, 1, made=1)


def test_an_adopted_draft_counts_as_the_persons(env: MailEnvironment) -> None:
    """Done discards the machine's words only."""
    place, _ = unsettled(env, "dropped", MADE["dropped"])
    composes_anew(env, place)
    env.drain()
    env.mailbox.label_thread(place.thread_id, add=(env.label("Done"),))
    env.sync()
    assert env.state(place.thread_id) is EmailState.ARCHIVED
    assert [OWN_WORDS in one["raw"] for one in env.mailbox.state().drafts] == [True]


def test_a_question_after_the_draft_was_thrown_away_gets_its_own(env: MailEnvironment) -> None:
    place, _ = unsettled(env, "dropped", MADE["dropped"])
    deletes(env, place)
    later = env.deliver("Lunch, dropped?", "Could you also tell me who comes? Please reply.", thread_id=place.thread_id)
    env.enqueue("gmail.sync")
    for family in ("gmail.%", "triage.%"):
        env.drain(only=family)
    env.drain()
    (draft,) = env.mailbox.state().drafts
    assert creates(env) == 2
    assert env.email(place.thread_id).draft_id == draft["draft_id"]
    assert "Postroom/Outbox" in env.mailbox.state().label_names(later.message_id)


def test_a_question_after_the_draft_was_sent_gets_its_own(env: MailEnvironment) -> None:
    place, _ = unsettled(env, "dropped", MADE["dropped"])
    sends(env, place)
    env.deliver("Re: Lunch, dropped?", "Could you also tell me who comes? Please reply.", thread_id=place.thread_id)
    env.enqueue("gmail.sync")
    for family in ("gmail.%", "triage.%"):
        env.drain(only=family)
    env.drain()
    assert creates(env) == 2
    assert len(env.mailbox.state().drafts) == 1
    assert env.state(place.thread_id) is EmailState.DRAFTED


@pytest.mark.parametrize("deed", [deletes, composes_anew_elsewhere])
def test_without_history_nobody_can_tell_and_a_person_decides(env: MailEnvironment, deed: Deed) -> None:
    """All drafts are read then; what none of them shows may have been thrown away."""
    place, job_id = unsettled(env, "dropped", MADE["dropped"])
    deed(env, place)
    env.mailbox.expire_history()
    env.drain(only="drafts.%")
    assert creates(env) == 1
    if deed is deletes:
        assert env.job(job_id)["state"] == "dead"
        assert env.count("select count(*) from idempotency_keys where status = 'unknown'") == 1
    else:
        assert env.state(place.thread_id) is EmailState.DRAFTED

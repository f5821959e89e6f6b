"""The day as data, and what its troubles find in made-up evidence."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from sandbox.demo.day.cast import ANNA, BEN, CAST, CLEO, QUESTIONS
from sandbox.demo.day.hours import hours, morning, predicted_endings
from sandbox.demo.day.mail import bulk_mail
from sandbox.demo.day.troubles import QUOTA_STATUSES, ConsentRevoked, LostAnswers, LostForward, QuotaErrors, WatchLapses
from sandbox.demo.evidence import AccountRow, ActionRow, Ledger, Outside, StoredMessage
from sandbox.demo.steps.actions import FORWARD_TO
from sandbox.demo.steps.step import Proof
from sandbox.emulator.control import JournalledCall, MailboxState, MessagePlace

NOW = datetime(2026, 1, 5, tzinfo=UTC)
NAMES = [letter.name for letter in QUESTIONS]
PLACES = {name: MessagePlace(f"m{at}", f"t{at}", 1, 1) for at, name in enumerate(NAMES)}
DRAFTS = [{"draft_id": f"d{at}", "message_id": f"x{at}", "thread_id": f"t{at}", "raw": ""} for at in range(len(NAMES))]


def call(
    operation: str, fault: dict[str, Any] | None = None, account: str = BEN.email, status: int | None = 200
) -> JournalledCall:
    return JournalledCall(operation, "POST", "/", status, account, {}, {}, fault, 5, 0.0)


def proof(*calls: JournalledCall, status: str = "active", lost: int = 0, **mark: object) -> Proof:
    messages = tuple(
        StoredMessage(place.message_id, place.thread_id, "incoming", NOW, None, "plan", "fyi", "llm")
        for place in PLACES.values()
    )
    ledger = Ledger(messages=messages, accounts=(AccountRow(BEN.email, status, lost),))
    box = MailboxState(BEN.email, 1, 1, messages=[], drafts=DRAFTS, labels=[], threads={})
    return Proof(ledger, Outside(box, calls), PLACES[NAMES[0]], {"since": 3} | mark, PLACES)


BROKEN = call("drafts.create", {"drop": "after"}, status=None)
REFUSED = [call("messages.get", {"status": status}, status=status) for status in QUOTA_STATUSES]
LOST = LostAnswers(BEN, QUESTIONS)
QUOTA = QuotaErrors(BEN, QUESTIONS)
LAPSED = WatchLapses(BEN, QUESTIONS)
REVOKED = ConsentRevoked(BEN, QUESTIONS)


def test_two_hundred_real_messages_go_to_three_people_in_two_orgs() -> None:
    there, day = morning(), hours()
    arriving = [(person, mail.name) for hour in day for person, mail in hour.mail]
    in_trouble = [name for hour in day for _, step in hour.steps for name in step.targets if name.endswith(".eml")]
    bulk = {mail.name for mail in bulk_mail()}
    real = [one.story.file for mails in there.values() for one in mails] + [name for _, name in arriving]
    real += [name for name in in_trouble if name in bulk]
    assert len(real) == len(set(real)) == 200
    assert (len(CAST), len({person.org for person in CAST})) == (3, 2)
    assert {person for person, _ in arriving} == set(CAST) == set(there)
    assert set(predicted_endings(day)) == set(real) | set(NAMES)


def test_everything_that_the_issue_names_goes_wrong_and_everybody_works() -> None:
    titles = Counter(step.title for hour in hours() for _, step in hour.steps)
    assert (titles["a watch lapses"], titles["a consent is revoked"]) == (2, 1)
    assert {
        "quota errors", "answers are lost", "a draft is edited", "a draft is sent", "a draft is reworked",
        "a thread is done", "a snooze comes back", "an action is undone", "the answer to a send is lost",
    } <= set(titles)  # fmt: skip


def test_a_person_works_only_with_their_own_mail() -> None:
    owners = {one.story.file: person for person, mails in morning().items() for one in mails}
    steps = [(person, name) for hour in hours() for person, step in hour.steps for name in step.targets]
    assert [(person, name) for person, name in steps if owners.get(name, person) != person] == []
    assert {ANNA, BEN, CLEO} == {person for person, _ in steps}


@pytest.mark.parametrize(
    ("step", "good"),
    [
        (LOST, proof(BROKEN, BROKEN, threads=["t0", "t1"])),
        (QUOTA, proof(*REFUSED)),
        (LAPSED, proof(call("watch"), pushes=0)),
        (REVOKED, proof(lost=1, read=0)),
    ],
)
def test_a_trouble_that_was_weathered_is_found_so(step: Any, good: Proof) -> None:  # noqa: ANN401  # any of the four
    assert step.found(good) == step.expected
    undecided = replace(good, ledger=replace(good.ledger, messages=good.ledger.messages[1:]))
    assert f"{len(NAMES) - 1} of {len(NAMES)} decided" in step.found(undecided)


@pytest.mark.parametrize(
    ("step", "bad", "words"),
    [
        (LOST, proof(BROKEN, threads=["t0", "t1"]), "1 answers lost"),
        (LOST, proof(BROKEN, BROKEN, threads=["t0", "t9"]), "drafts in a thread: [0, 1]"),
        (LOST, proof(BROKEN, call("drafts.create", {"status": 500}, status=500), threads=["t0", "t1"]), "1 answers"),
        (QUOTA, proof(REFUSED[0], call("messages.get", {"status": 403}, CLEO.email, 403)), "refused with 429, "),
        (QUOTA, proof(), "refused with nothing"),
        (LAPSED, proof(call("watch"), pushes=2), "2 pushes"),
        (LAPSED, proof(call("watch", account=CLEO.email), pushes=0), "no new watch"),
        (LAPSED, proof(call("watch", status=403), pushes=0), "no new watch"),
        (REVOKED, proof(read=0), "never noticed"),
        (REVOKED, proof(lost=2, read=0), "noticed 2 times"),
        (REVOKED, proof(lost=1, read=3), "3 messages read meanwhile"),
        (REVOKED, proof(lost=1, read=0, status="needs_reconsent"), "account needs_reconsent"),
    ],
)
def test_a_trouble_that_left_a_trace_says_which(step: Any, bad: Proof, words: str) -> None:  # noqa: ANN401  # as above
    assert step.found(bad) != step.expected
    assert words in step.found(bad)


LOST_SEND = call("drafts.send", {"drop": "after"}, status=None)


@pytest.mark.parametrize(
    ("calls", "sent", "words"),
    [
        ([LOST_SEND], 1, LostForward.expected),
        ([LOST_SEND], 2, "2 messages sent"),
        ([call("drafts.send")], 1, "no answer lost"),
        ([LOST_SEND, LOST_SEND], 1, "2 answers lost"),
        ([replace(LOST_SEND, account=CLEO.email)], 1, "no answer lost"),
    ],
)
def test_a_forward_whose_answer_was_lost_was_sent_once(calls: list[JournalledCall], sent: int, words: str) -> None:
    action = ActionRow(UUID(int=1), "forward", "done", "m0", approver=BEN.email)
    evidence = proof(*calls, action_id=str(action.action_id), refused=True)
    message = {"message_id": "m9", "thread_id": "t0", "label_ids": ["SENT"], "recipients": FORWARD_TO}
    box = replace(evidence.outside.mailbox, messages=[message] * sent)
    here = replace(
        evidence,
        ledger=replace(evidence.ledger, actions=(action,)),
        outside=replace(evidence.outside, mailbox=box),
    )
    found = LostForward(NAMES[0]).found(here)
    assert words in found
    assert (found == LostForward.expected) is (words == LostForward.expected)

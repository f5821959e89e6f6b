"""When an action of the person counts as seen by the fleet."""

from dataclasses import replace

import pytest

from sandbox.demo.evidence import EmailRecord, Ledger
from sandbox.demo.story import FIRST_SYNC, WAVE, PersonAction, What, split_story, unseen, whole_story
from sandbox.emulator.control import MailboxState

MAILBOX = MailboxState("owner@postroom.example", 9, 1, messages=[], drafts=[], labels=[], threads={})
RECORD = EmailRecord("t1", "m1", "drafted", "d1", "m2")
IN_INBOX = {"message_id": "m1", "thread_id": "t1", "label_ids": ["INBOX"]}


@pytest.mark.parametrize(
    ("what", "message_id", "record"),
    [
        ("sent", "m9", replace(RECORD, state="sent", sent_message_id="m9")),
        ("edited", "m3", replace(RECORD, draft_message_id="m3")),
        ("discarded", None, replace(RECORD, state="skipped")),
        ("done", None, replace(RECORD, state="archived")),
    ],
)
def test_a_call_is_seen_when_its_record_says_so(what: What, message_id: str | None, record: EmailRecord) -> None:
    actions = [PersonAction(what, "t1", message_id)]
    assert unseen(actions, Ledger(emails=(record,)), MAILBOX) == []
    assert unseen(actions, Ledger(emails=(RECORD,)), MAILBOX) == actions
    assert unseen(actions, Ledger(), MAILBOX) == actions


def test_a_sent_draft_is_not_seen_by_another_message() -> None:
    record = replace(RECORD, state="sent", sent_message_id="m8")
    actions = [PersonAction("sent", "t1", "m9")]
    assert unseen(actions, Ledger(emails=(record,)), MAILBOX) == actions


def test_done_is_seen_only_when_the_thread_has_left_the_inbox() -> None:
    ledger = Ledger(emails=(replace(RECORD, state="archived"),))
    actions = [PersonAction("done", "t1")]
    assert unseen(actions, ledger, replace(MAILBOX, messages=[IN_INBOX])) == actions
    assert unseen(actions, ledger, replace(MAILBOX, messages=[IN_INBOX | {"thread_id": "t2"}])) == []


def test_the_story_is_told_whole_and_in_order() -> None:
    first, waves = split_story()
    rest = list(waves)
    assert len(first) == FIRST_SYNC
    assert {len(wave) for wave in rest} == {WAVE}
    files = [one.story.file for one in first] + [one.story.file for wave in rest for one in wave]
    assert files == [one.story.file for one in whole_story()]

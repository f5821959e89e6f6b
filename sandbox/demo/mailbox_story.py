"""The demo's mailbox: 60 real messages, re-dated and threaded by `mail/manifest.json`, ready to be delivered."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Literal

from sandbox.demo.mail_headers import RawMessage

MAIL = Path(__file__).resolve().parent.parent / "mail"
OWNER = "owner@postroom.example"
"""The mailbox's owner, a made-up address."""

TRACES_OF_A_LIST = frozenset({
    "approved-by", "cc", "errors-to", "list-*", "mailing-list", "old-return-path", "precedence", "received", "reply-to",
    "return-path", "sender", "x-beenthere", "x-egroups-*", "x-list-*", "x-loop", "x-mailman-*", "x-original-date",
})  # fmt: skip
"""Headers that a list manager adds. The corpus has hardly any private mail, so the personal messages are list posts."""

SUBJECT_TAG = re.compile(r"\[[\w .-]+\]\s*")


@dataclass(frozen=True)
class StoryMessage:
    """One entry of the manifest: the file, its kind, and when it arrives, in minutes before the present."""

    file: str
    group: Literal["personal", "list", "newsletter", "receipt", "spam"]
    minutes_ago: int
    thread: str | None
    wants_answer: bool
    ends: Literal["drafted", "skipped"]
    """The predicted state of its thread's record, when nobody does anything with it."""
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Delivery:
    """A message as the mail server hands it over: raw RFC 5322 bytes, arriving at `at` with Gmail's system `labels`."""

    story: StoryMessage
    at: datetime
    message_id: str
    raw: bytes


def read_story() -> list[StoryMessage]:
    """Every message of the manifest, the oldest first."""
    entries = json.loads((MAIL / "manifest.json").read_text())
    messages = [StoryMessage(**{**entry, "labels": tuple(entry["labels"])}) for entry in entries]
    return sorted(messages, key=lambda message: message.minutes_ago, reverse=True)


def tell_story(now: datetime, *, owner: str = OWNER) -> Iterator[Delivery]:
    """Every message of the mailbox, the oldest first; `now` must have a time zone."""
    threads: dict[str, list[str]] = {}
    seen: set[str] = set()
    for story in read_story():
        at = now - timedelta(minutes=story.minutes_ago)
        message = _address(RawMessage.parse((MAIL / story.file).read_bytes()), story, owner)
        message = _identify(message.having("Date", format_datetime(at)), story, seen)
        message_id = message.get("Message-ID")
        seen.add(message_id)
        if story.thread is not None:
            earlier = threads.setdefault(story.thread, [])
            message = _answer(message, earlier)
            earlier.append(message_id)
        yield Delivery(story, at, message_id, message.having("Delivered-To", owner).render())


def _address(message: RawMessage, story: StoryMessage, owner: str) -> RawMessage:
    """Address personal mail to the owner alone; other mail keeps its addresses."""
    message = message.without({"delivered-to", "delivery-date", "x-delivered-to", "x-mdaemon-deliver-to"})
    if story.group != "personal":
        return message
    subject = SUBJECT_TAG.sub("", message.get("Subject"), count=1)
    return message.without(TRACES_OF_A_LIST).having("To", owner).having("Subject", subject)


def _identify(message: RawMessage, story: StoryMessage, seen: set[str]) -> RawMessage:
    """Keep the Message-ID, unless there is none or an earlier message has the same."""
    known = message.get("Message-ID")
    return message if known and known not in seen else message.having("Message-ID", f"<{story.file}@postroom.example>")


def _answer(message: RawMessage, earlier: list[str]) -> RawMessage:
    """Refer to the earlier messages of its thread (RFC 5322, section 3.6.4)."""
    message = message.without({"in-reply-to", "references"})
    if not earlier:
        return message
    return message.having("References", " ".join(earlier)).having("In-Reply-To", earlier[-1])

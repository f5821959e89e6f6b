"""Whether a mailbox has a draft whose creation had no answer (docs: gmail.md#lost-drafts).

The person may have sent, edited or deleted the draft before anybody looked for it. History names every draft message
that was added since, also those that are gone by now; only when it names none was the draft certainly not made.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from domain.mail.mailbox import DRAFT, SENT, Change, MessageFacts
from domain.mail.outgoing.outgoing_mail import TOKEN_HEADER
from domain.mail.outgoing.thread_ids import token_reference


@dataclass(frozen=True, slots=True)
class LostDraft:
    """The draft that is looked for."""

    thread_id: str | None
    """The thread that it was made in; None for the draft of a mail that begins a conversation."""
    token: str
    since: int | None = None
    """A history id from before it was made; None when nobody kept one."""
    answers: str | None = None
    """The Message-ID of the message that it replies to."""


@dataclass(frozen=True, slots=True)
class Added:
    """What was added to the mailbox since then: the thread of each message, by the message's id."""

    drafts: Mapping[str, str]
    """Of drafts, which may be gone."""
    sent: Mapping[str, str]
    unlabelled: Mapping[str, str]
    """Of messages whose labels history does not say."""


def traces(changes: Iterable[Change]) -> Added:
    """Read the traces of drafts in history."""
    added = [one for one in changes if one.kind == "message_added"]
    return Added(
        drafts={one.message_id: one.thread_id for one in added if DRAFT in one.label_ids},
        sent={one.message_id: one.thread_id for one in added if SENT in one.label_ids},
        unlabelled={one.message_id: one.thread_id for one in added if not one.label_ids},
    )


def shows_token(message: MessageFacts, token: str) -> bool:
    """Whether a message was made from the draft with this token: by our header, or by the entry in References."""
    named = message.headers.get(TOKEN_HEADER.lower(), "").strip()
    return named == token or token_reference(token) in message.headers.get("references", "")


def token_named(message: MessageFacts) -> str:
    """The token of the draft of ours that a message was made from; empty for none.

    By our header only: References repeat the tokens of every earlier mail of a conversation.
    """
    return message.headers.get(TOKEN_HEADER.lower(), "").strip()


def stands_for(message: MessageFacts, lost: LostDraft) -> bool:
    """Whether a message without our token may be the draft all the same.

    A client that composes a draft anew drops our header and reference. Such a draft is in the thread, or names the
    same message in In-Reply-To from the thread that an edit of its subject has moved it to. What shows the token of
    another draft of ours is that one.
    """
    if token_named(message):
        return False
    if message.thread_id == lost.thread_id:
        return True
    return lost.answers is not None and message.headers.get("in-reply-to", "").strip() == lost.answers

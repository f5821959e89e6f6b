"""Whether a mailbox has a draft whose creation had no answer (docs: gmail.md#lost-drafts).

The person may have sent, edited or deleted the draft before anybody looked for it. History names every draft message
that was added since, also those that are gone by now; only when it names none was the draft certainly not made.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from domain.mail.mailbox import DRAFT, SENT, Change, MessageFacts
from domain.mail.replies.replies import TOKEN_HEADER, token_reference


@dataclass(frozen=True, slots=True)
class LostDraft:
    """The draft that is looked for."""

    thread_id: str
    token: str
    since: int | None = None
    """A history id from before it was made; None when nobody kept one."""
    answers: str | None = None
    """The Message-ID of the message that it replies to."""


@dataclass(frozen=True, slots=True)
class Added:
    """What was added to the mailbox since then, by message id."""

    drafts: frozenset[str]
    sent: frozenset[str]
    begun: bool
    """Whether a draft was begun in the thread, by us or by its person; it may be gone."""


def traces(changes: Iterable[Change], thread_id: str) -> Added:
    """Read the traces of a draft of this thread in history."""
    added = [one for one in changes if one.kind == "message_added"]
    drafts = [one for one in added if DRAFT in one.label_ids]
    return Added(
        drafts=frozenset(one.message_id for one in drafts),
        sent=frozenset(one.message_id for one in added if SENT in one.label_ids),
        begun=any(one.thread_id == thread_id for one in drafts),
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
    same message in In-Reply-To from the thread that an edit of its subject has moved it to.
    """
    if message.thread_id == lost.thread_id:
        return True
    return lost.answers is not None and message.headers.get("in-reply-to", "").strip() == lost.answers

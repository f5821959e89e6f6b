"""The message ids by which mailers put a mail into its thread, and the one among them that names it as ours."""

import re
from collections.abc import Sequence

from domain.jobs.failures import Invalid
from domain.mail.outgoing.header_lines import LONGEST_ID, header_text
from domain.mail.parsing.parsed_message import ParsedMessage

_TOKEN = re.compile(r"[A-Za-z0-9_-]{8,64}")
LONGEST_REFERENCES = 900
"""Characters of the ids from the middle of a thread: its beginning and the message that is answered are always named,
and the latest of the others say to mailers where it has got to."""


def known_references(message: ParsedMessage) -> tuple[str, ...]:
    """The ids of the thread up to a message, as it names them."""
    return message.references or ((message.in_reply_to,) if message.in_reply_to else ())


def thread_ids(references: Sequence[str], parent: str | None, token: str | None = None) -> tuple[str, ...]:
    """The ids for References: the thread's first, the token's, then the latest that fit, the parent last."""
    ids = list(dict.fromkeys(one for one in (*references, parent) if one and _is_writable(one)))
    last = [one for one in ids if one == parent]
    earlier = [one for one in ids if one != parent]
    first = [*earlier[:1], *([] if token is None else [token_reference(token)])]
    room = LONGEST_REFERENCES - sum(len(one) + 1 for one in (*first, *last))
    middle: list[str] = []
    for one in reversed(earlier[1:]):
        room -= len(one) + 1
        if room < 0:
            break
        middle.insert(0, one)
    return (*first, *middle, *last)


def token_reference(token: str) -> str:
    """The made-up References entry of a token; `.invalid` can never be anybody's domain (RFC 2606)."""
    if not _TOKEN.fullmatch(token):
        raise Invalid("token", "is not 8 to 64 letters, digits, hyphens or underscores")
    return f"<{token}@draft.postroom.invalid>"


def _is_writable(message_id: str) -> bool:
    """Whether an id fits a line; what others wrote there is repeated as it is (RFC 5322, 3.6.4)."""
    return len(message_id) <= LONGEST_ID and header_text(message_id) == message_id

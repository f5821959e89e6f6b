"""The subject of an answer and of a forward, and how threads compare subjects.

Gmail keeps a mail in its thread only while the subject is the same, prefixes aside (docs: gmail.md#drafts). So a
subject is never cut, and what no header can hold becomes a space, as its reader sees it.
"""

import re

from domain.mail.outgoing.header_lines import header_text

_REPLY = re.compile(r"(?i)re\s*+(?:\[\d+\]\s*+)?:")
_FORWARD = re.compile(r"(?i)fwd?\s*:")
_PREFIXES = re.compile(r"(?i)^\s*+(?:(?:re|fwd?|aw|wg|sv|antw)\s*+(?:\[\d+\]\s*+)?:\s*+)*+")


def reply_subject(subject: str) -> str:
    """The subject with one `Re: `; unchanged when it has one."""
    text = header_text(subject)
    return text if _REPLY.match(text) else f"Re: {text}".strip()


def forward_subject(subject: str) -> str:
    """The subject with one `Fwd: `; unchanged when it has one."""
    text = header_text(subject)
    return text if _FORWARD.match(text) else f"Fwd: {text}".strip()


def plain_subject(subject: str) -> str:
    """A subject as threads compare it: without prefixes, spare blanks and case."""
    return _PREFIXES.sub("", header_text(subject)).casefold()

"""For which mail a draft is expected: a rule of the demo's own, over the bytes of a message and before a run.

It shares no code with the fleet. The words are read as the scripted model reads them; whether anybody may be answered
is seen in the headers.
"""

import re
from email import message_from_bytes
from email.message import Message

from sandbox.anthropic.scripted_reading import read_mail

WHERE_PEOPLE_WRITE = ("List-Post", "X-BeenThere", "Mailing-List")
KEEPER_OF_A_LIST = "owner-"
"""How the address in Sender begins on the lists of Majordomo, which has none of those headers."""
MASS = frozenset({"bulk", "junk"})
NOT_THE_WRITERS = re.compile(r"^(-- |_{10,}|this is a forwarded message|-+ ?original message ?-+)$", re.IGNORECASE)
"""A line below which the writer's own words end: a signature, a list's footer, a message that is passed on."""


def expects_draft(raw: bytes) -> bool:
    """Whether somebody who may be answered asks something of the reader."""
    message = message_from_bytes(raw)
    if not may_be_answered(message):
        return False
    head = "".join(f"{name}: {message.get(name, '')}\n" for name in ("Subject", "From"))
    return read_mail(f"{head}\n{_own_words(message)}").needs_answer


def may_be_answered(message: Message) -> bool:
    """False for the mail of machines, and for mass mail to which nobody can write back."""
    if str(message.get("Auto-Submitted", "no")).strip().lower() != "no":
        return False
    keeper = str(message.get("Sender", "")).strip().startswith(KEEPER_OF_A_LIST)
    if keeper or any(name in message for name in WHERE_PEOPLE_WRITE):
        return True
    return "List-Unsubscribe" not in message and str(message.get("Precedence", "")).strip().lower() not in MASS


def _own_words(message: Message) -> str:
    """The first plain text, up to where the writer's words end."""
    plain = next((part for part in message.walk() if part.get_content_type() == "text/plain"), None)
    raw = plain.get_payload(decode=True) if plain else b""
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else ""
    lines = text.replace("\r\n", "\n").split("\n")
    end = next((at for at, line in enumerate(lines) if NOT_THE_WRITERS.match(line)), len(lines))
    return "\n".join(lines[:end])

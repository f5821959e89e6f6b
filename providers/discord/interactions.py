"""Presses of buttons as Discord posts them: verified, read, answered (docs: discord.md#interactions)."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic_core import from_json

from domain.jobs.failures import Forbidden, Invalid
from providers.discord.messages import NOBODY, Press, outcome_document, read_custom_id

LONGEST_BODY = 256 * 1024
"""A press carries the message with it, of at most 2,000 characters: some 20 KB."""

OLDEST = timedelta(minutes=5)
"""How old or how far ahead a timestamp may be: clocks differ, and a recorded press is of no use later."""

EPHEMERAL = 1 << 6
"""Only the presser sees the message."""

_SIGNATURE = re.compile(r"[0-9a-fA-F]{128}", re.ASCII)
_TIMESTAMP = re.compile(r"[0-9]{1,12}", re.ASCII)
_ID = re.compile(r"[0-9]{1,20}", re.ASCII)


class Kind(IntEnum):
    """Types of interactions that are answered."""

    PING = 1
    PRESS = 3


class Reply(IntEnum):
    """Types of answers."""

    PONG = 1
    MESSAGE = 4
    DEFERRED_EDIT = 6
    EDIT = 7


@dataclass(frozen=True, slots=True)
class Interaction:
    """What somebody did. `press` is None for a ping, and for a button that is not ours."""

    kind: Kind
    actor_id: str = ""
    """In a server the member's user, in a direct message the user; empty when there is none."""
    channel_id: str = ""
    press: Press | None = None


def verify(signature: str | None, timestamp: str | None, body: bytes, *, public_key: str, now: datetime) -> None:
    """Raise `Forbidden` unless Discord signed these bytes with the application's key within the last minutes."""
    if not public_key:
        raise Forbidden("no public key is set: POSTROOM_DISCORD_PUBLIC_KEY", code="discord.no_key")
    if not _SIGNATURE.fullmatch(signature or "") or not _TIMESTAMP.fullmatch(timestamp or ""):
        raise Forbidden("signature or timestamp is missing or malformed", code="discord.unsigned")
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        key.verify(bytes.fromhex(signature or ""), (timestamp or "").encode() + body)
    except (InvalidSignature, ValueError):
        raise Forbidden("the signature is not the application's", code="discord.bad_signature") from None
    # After the signature: an unsigned time says nothing.
    if abs(now.timestamp() - int(timestamp or "")) > OLDEST.total_seconds():
        raise Forbidden("the timestamp is too old, or ahead", code="discord.stale")


def parse(body: bytes) -> Interaction:
    """A verified interaction; raises `Invalid` with the field for what cannot be answered."""
    try:
        document = from_json(body)
    except ValueError:
        raise Invalid("document", "is no JSON") from None
    if not isinstance(document, dict):
        raise Invalid("document", "is no JSON object")
    kind = document.get("type")
    if type(kind) is not int or kind not in set(Kind):
        raise Invalid("type", "is neither a ping (1) nor a press (3)")
    if kind == Kind.PING:
        return Interaction(Kind.PING)
    member = document.get("member")
    actor = _id(_at(member, "user", "id") if isinstance(member, dict) else _at(document, "user", "id"))
    custom_id = _at(document, "data", "custom_id")
    press = read_custom_id(custom_id) if isinstance(custom_id, str) else None
    return Interaction(Kind.PRESS, actor, _id(document.get("channel_id")), press)


def pong() -> dict[str, Any]:
    """The answer to a ping."""
    return {"type": int(Reply.PONG)}


def edited(content: str) -> dict[str, Any]:
    """The answer that edits the pressed message: these words, no buttons."""
    return {"type": int(Reply.EDIT), "data": outcome_document(content)}


def whispered(words: str) -> dict[str, Any]:
    """The answer that only the presser sees."""
    return {"type": int(Reply.MESSAGE), "data": {"content": words, "flags": EPHEMERAL, "allowed_mentions": NOBODY}}


def _at(document: object, *names: str) -> object:
    for name in names:
        document = document.get(name) if isinstance(document, dict) else None
    return document


def _id(value: object) -> str:
    return value if isinstance(value, str) and _ID.fullmatch(value) else ""

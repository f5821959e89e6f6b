"""Presses of buttons as Discord posts them to an application: signed with Ed25519, and badly signed on purpose."""

import json
import time
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

_KEY = Ed25519PrivateKey.from_private_bytes(b"an application of the emulator's"[:32])

PUBLIC_KEY = _KEY.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()
"""What an application's page shows as its public key."""


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """A body and the headers that sign it."""

    body: bytes
    headers: dict[str, str]


def ping() -> dict[str, Any]:
    """What Discord asks an endpoint before it believes in it."""
    return {"id": "1", "application_id": "2", "type": 1, "token": "a token", "version": 1}


def press(message: dict[str, Any], custom_id: str, user_id: str, *, direct: bool = False) -> dict[str, Any]:
    """Somebody presses a button of a message, in a server or in a direct message."""
    user = {"id": user_id, "username": "somebody"}
    who: dict[str, Any] = {"user": user} if direct else {"member": {"user": user, "roles": []}, "guild_id": "3"}
    return {
        "id": "1",
        "application_id": "2",
        "type": 3,
        "token": "a token",
        "version": 1,
        "channel_id": message["channel_id"],
        "message": message,
        "data": {"component_type": 2, "custom_id": custom_id},
        **who,
    }


def signed(document: object, *, at: float | None = None) -> SignedRequest:
    """As Discord sends it."""
    return signed_bytes(json.dumps(document).encode(), at=at)


def signed_bytes(body: bytes, *, at: float | None = None) -> SignedRequest:
    """Any bytes, signed."""
    timestamp = str(int(time.time() if at is None else at))
    signature = _KEY.sign(timestamp.encode() + body).hex()
    headers = {"X-Signature-Ed25519": signature, "X-Signature-Timestamp": timestamp, "Content-Type": "application/json"}
    return SignedRequest(body, headers)


def badly_signed(document: object) -> SignedRequest:
    """As Discord sends it to see whether an endpoint checks: well formed, and by no key of the application's."""
    made = signed(document)
    other = Ed25519PrivateKey.generate().sign(made.headers["X-Signature-Timestamp"].encode() + made.body)
    return SignedRequest(made.body, made.headers | {"X-Signature-Ed25519": other.hex()})

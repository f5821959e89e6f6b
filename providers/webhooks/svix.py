"""Whether a callback was signed by Svix, by which Resend signs (docs: resend.md#callbacks).

Source: https://docs.svix.com/receiving/verifying-payloads/how-manual.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime, timedelta

from pydantic import SecretStr

PREFIX = "whsec_"
TOLERANCE = timedelta(minutes=5)
"""How far the time of a callback may be from ours; an older one may be a replay."""
LONGEST_ID = 200
MOST_SIGNATURES = 10
"""A callback carries a signature for each secret in force, of which there are two while one replaces the other."""

MESSAGE_ID, TIMESTAMP, SIGNATURE = "svix-id", "svix-timestamp", "svix-signature"


def is_signed(secret: SecretStr, headers: Mapping[str, str], body: bytes, now: datetime) -> bool:
    """Whether these very bytes were signed with the secret lately. Names of headers are lower-case.

    Raises `ValueError` for a secret that is none: the setting is wrong, and not the callback.
    """
    message_id, timestamp = headers.get(MESSAGE_ID, ""), headers.get(TIMESTAMP, "")
    if not 0 < len(message_id) <= LONGEST_ID or not is_recent(timestamp, now):
        return False
    wanted = signature_of(secret, message_id, timestamp, body).encode()
    given = headers.get(SIGNATURE, "").split(" ")[:MOST_SIGNATURES]
    return any([hmac.compare_digest(wanted, one.encode()) for one in given])  # noqa: C419 - each one, in the same time


def signature_of(secret: SecretStr, message_id: str, timestamp: str, body: bytes) -> str:
    """The signature as it stands in the header."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(_key(secret), signed, hashlib.sha256).digest()).decode()


def is_recent(timestamp: str, now: datetime) -> bool:
    """Whether a time in seconds since the epoch is near to now, before or after it."""
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):  # noqa: PLR2004 - 30,000 years
        return False
    return abs(now.timestamp() - int(timestamp)) <= TOLERANCE.total_seconds()


def _key(secret: SecretStr) -> bytes:
    try:
        key = base64.b64decode(secret.get_secret_value().removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise ValueError("is no signing secret such as Resend's page shows it")
    return key

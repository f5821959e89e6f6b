"""Whether a callback was signed by Twilio (docs: twilio.md#callbacks).

Twilio signs the address that it was given, and each field behind it by name, with HMAC-SHA1 and the account's token.
The address must be the very text that was handed over: a proxy that changes scheme, port or query would break it, so it
is put together from our setting and never from the request.
Of an address with a port, Twilio signs at times the one without it, so either is good, as for Twilio's own packages.
Source: https://www.twilio.com/docs/usage/webhooks/webhooks-security.
"""

import base64
import hashlib
import hmac
from collections.abc import Iterable
from urllib.parse import urlsplit, urlunsplit

SIGNATURE = "x-twilio-signature"


def is_signed(auth_token: str, url: str, fields: Iterable[tuple[str, str]], signature: str) -> bool:
    """Whether the account's token has signed these fields for that address."""
    kept, parts = tuple(fields), urlsplit(url)
    host = parts.netloc.removesuffix(f":{parts.port}")
    signed = {url, urlunsplit(parts._replace(netloc=host))}
    return any(hmac.compare_digest(signature_of(auth_token, one, kept).encode(), signature.encode()) for one in signed)


def signature_of(auth_token: str, url: str, fields: Iterable[tuple[str, str]]) -> str:
    """The signature as it stands in the header; a field that comes twice with the same value counts once."""
    signed = url + "".join(f"{name}{value}" for name, value in sorted(set(fields)))
    return base64.b64encode(hmac.new(auth_token.encode(), signed.encode(), hashlib.sha1).digest()).decode()

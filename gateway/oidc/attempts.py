"""One attempt to sign in at the provider: what binds the browser that went there to the one that comes back.

Nothing of it is kept here. The browser has one secret in a cookie, from which the words of the attempt follow.
"""

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import quote, unquote

LONGEST_AFTER = 2000
"""Characters of the page to go to; browsers keep cookies of 4 kB."""

Purpose = Literal["sign-in", "proof"]
PURPOSES: tuple[Purpose, ...] = ("sign-in", "proof")
COOKIE = re.compile(r"([\w-]{43})\.([\w.~%-]{0,6000})", re.ASCII)


@dataclass(frozen=True, slots=True)
class OidcAttempt:
    """A browser that is sent to the provider, and the page that it had asked for."""

    secret: str = field(repr=False)
    after: str = ""

    @classmethod
    def begin(cls, after: str) -> "OidcAttempt":
        """A new one."""
        return cls(secrets.token_urlsafe(32), after if len(after) <= LONGEST_AFTER else "")

    @classmethod
    def read(cls, cookie: str) -> "OidcAttempt | None":
        """The attempt of a browser; None for one that was not sent."""
        found = COOKIE.fullmatch(cookie)
        return None if found is None else cls(found[1], unquote(found[2]))

    @property
    def cookie(self) -> str:
        """What the browser keeps of it."""
        return f"{self.secret}.{quote(self.after, safe='')}"

    def word(self, use: Literal["state", "nonce", "verifier"], purpose: Purpose) -> str:
        """The word for a use, 43 characters; no other follows from it."""
        made = hmac.digest(self.secret.encode(), f"{use} {purpose}".encode(), "sha256")
        return base64.urlsafe_b64encode(made).rstrip(b"=").decode()

    def challenge(self, purpose: Purpose) -> str:
        """The S256 challenge of its verifier (RFC 7636)."""
        made = hashlib.sha256(self.word("verifier", purpose).encode()).digest()
        return base64.urlsafe_b64encode(made).rstrip(b"=").decode()

    def purpose_of(self, state: str) -> Purpose | None:
        """What the browser was sent for with that state; None for the state of another attempt."""
        return next(
            (one for one in PURPOSES if hmac.compare_digest(self.word("state", one).encode(), state.encode())), None
        )

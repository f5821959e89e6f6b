"""Links to artifacts: signed for one artifact of one org until a time. The row is asked besides, each time."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import quote, urlencode
from uuid import UUID

from domain.jobs.failures import Invalid

PURPOSE = b"artifact:"
"""Signed with it, so that no signature made for something else is one of a link."""
LASTS = timedelta(days=1)
LONGEST = timedelta(days=30)
_SECONDS = re.compile(r"[1-9][0-9]{0,10}")
"""Since 1970, as a link writes them: until some 3,000 years from now. Other digits, or more, are no link's."""
_HEX = re.compile(r"(?:[0-9a-f]{2}){1,32}")

Sign = Callable[[bytes], bytes]
IsSigned = Callable[[bytes, bytes], bool]


@dataclass(frozen=True, slots=True)
class ArtifactLink:
    """What a link is signed for. Links are revoked by counting on: an earlier number's are good for nothing."""

    artifact_id: UUID
    org_id: UUID
    until: datetime
    number: int = 0

    def address(self, public_url: str, sign: Sign) -> str:
        """The link as browsers take it."""
        # In hexadecimal digits: one in 200,000 written in base64 looks like a key of a vendor's, and would be hidden.
        query = urlencode({"until": int(self.until.timestamp()), "sig": sign(self._message()).hex()})
        return f"{public_url}/a/{self.artifact_id}?{query}"

    def is_signed_by(self, signature: str, is_signed: IsSigned) -> bool:
        """Whether the signature is this link's."""
        if not _HEX.fullmatch(signature):
            return False
        return is_signed(self._message(), bytes.fromhex(signature))

    def _message(self) -> bytes:
        until, number = int(self.until.timestamp()).to_bytes(8), self.number.to_bytes(4)
        return PURPOSE + self.artifact_id.bytes + self.org_id.bytes + until + number


def until_of(lasts: timedelta, now: datetime, expires_at: datetime) -> datetime:
    """Until when a link is good, in whole seconds: no longer than its artifact. Raises `Invalid`."""
    if not timedelta(0) < lasts <= LONGEST:
        raise Invalid("lasts_s", f"must be more than 0 and at most {LONGEST.total_seconds():.0f}")
    return min(now + lasts, expires_at).replace(microsecond=0)


def read_until(text: str) -> datetime | None:
    """The time that a link names; None for what is no time."""
    return datetime.fromtimestamp(int(text), UTC) if _SECONDS.fullmatch(text) else None


def disposition(name: str) -> str:
    """`Content-Disposition` of a download (RFC 6266): always to be saved, never to be shown inside our own origin."""
    plain = "".join(one if one.isascii() and one.isprintable() and one not in '"\\%' else "_" for one in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"

"""Links to artifacts: signed for one artifact of one org until a time. The row is asked besides, each time."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import quote
from uuid import UUID

from domain.jobs.failures import Invalid
from domain.orgs.access.signed_links import SignedLink

LASTS = timedelta(days=1)
LONGEST = timedelta(days=30)
_SECONDS = re.compile(r"[1-9][0-9]{0,10}")
"""Since 1970, as a link writes them: until some 3,000 years from now. Other digits, or more, are no link's."""


@dataclass(frozen=True, slots=True)
class ArtifactLink(SignedLink):
    """What a link is signed for. Links are revoked by counting on: an earlier number's are good for nothing."""

    artifact_id: UUID
    org_id: UUID
    until: datetime
    number: int = 0

    @property
    def target(self) -> str:
        """`/a/{artifact_id}`."""
        return f"/a/{self.artifact_id}?until={int(self.until.timestamp())}"

    @property
    def unsaid(self) -> str:
        """The org, and the number of links that were revoked."""
        return f"{self.org_id} {self.number}"


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

"""Files that are too large for one request, uploaded in parts and resumed where they broke off (docs: graph.md#files).

The address of an upload grants access by itself: it is kept in memory alone, and stands in no failure, log or span.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock
from urllib.parse import urlsplit

from pydantic import SecretStr

from domain.jobs.failures import Failure, Transient
from providers.microsoft.failures import PROVIDER
from providers.microsoft.graph_client import GraphClient, document_of, json_bytes, path_of
from providers.microsoft.graph_drafts import upload_document
from providers.ports.email import EmailAttachment
from providers.rest_client import RestAnswer, unreadable, utc_now

PART = 10 * 320 * 1024
"""Bytes of one part: below the 4 MB of a request, and a multiple of 320 KiB."""
MOST_KEPT = 100
"""Uploads of which one sender keeps the address; an older one is begun anew."""
KEPT_FOR = timedelta(hours=1)
"""How long an address is kept; Graph says when it expires, and refuses it then, too."""
CREATED = 201
GONE = frozenset({401, 403, 404, 410})
"""The session is none any more: it is completed, has expired, or was given up."""
ELSEWHERE = frozenset({409, 416})
"""Another part is expected: what was uploaded and what we know of it differ."""

_NEXT = re.compile(r"(\d{1,12})(?:-\d*)?")

Key = tuple[str, int]
"""A draft's id, and the index of a file among the mail's."""


@dataclass(frozen=True, slots=True)
class Session:
    """An upload that was begun."""

    url: SecretStr
    begun_at: datetime


class Uploads:
    """Uploads of one mailbox; safe to share between threads."""

    def __init__(self, graph: GraphClient, clock: Callable[[], datetime] = utc_now) -> None:
        """Nothing is under way."""
        self._graph = graph
        self._clock = clock
        self._kept: dict[Key, Session] = {}
        self._lock = Lock()

    def upload(self, draft_id: str, index: int, file: EmailAttachment) -> None:
        """Upload what is still missing of a file; what breaks off is resumed by the next call of this process."""
        key = (draft_id, index)
        session, start = self._resume(key)
        if session is None:
            session, start = self._begin(key, file), 0
        while start is not None and start < file.size:
            start = self._put(key, session, file, start)
        with self._lock:
            self._kept.pop(key, None)

    def _resume(self, key: Key) -> tuple[Session | None, int | None]:
        """The upload that broke off, and the first byte that is missing; no session where there is none any more."""
        with self._lock:
            session = self._kept.get(key)
        if session is None:
            return None, 0
        if self._clock() - session.begun_at < KEPT_FOR:
            answer = self._graph.call_unsigned("uploads.get", "GET", session.url.get_secret_value(), {})
            if answer.status not in GONE:
                self._graph.check(answer)
                return session, next_byte(answer)
        with self._lock:
            self._kept.pop(key, None)
        return None, 0

    def _begin(self, key: Key, file: EmailAttachment) -> Session:
        answer = self._graph.call(
            "uploads.begin",
            "POST",
            f"{path_of(key[0])}/attachments/createUploadSession",
            json_bytes(upload_document(file)),
        )
        url = document_of(answer).get("uploadUrl")
        if not isinstance(url, str) or urlsplit(url).scheme != self._graph.scheme:
            raise unreadable(PROVIDER, answer.status)
        session = Session(SecretStr(url), self._clock())
        with self._lock:
            if len(self._kept) >= MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = session
        return session

    def _put(self, key: Key, session: Session, file: EmailAttachment, start: int) -> int | None:
        """Send one part; returns the next byte that is expected, None when the file is attached."""
        part = file.read()[start : start + PART]
        headers = {
            "Content-Type": "application/octet-stream",
            "Content-Range": f"bytes {start}-{start + len(part) - 1}/{file.size}",
        }
        answer = self._graph.call_unsigned("uploads.put", "PUT", session.url.get_secret_value(), headers, part)
        if answer.status == CREATED:
            return None
        if answer.status in GONE:
            with self._lock:
                self._kept.pop(key, None)
            raise broken_off("upload_gone")
        if answer.status in ELSEWHERE:
            raise broken_off("upload_elsewhere")
        self._graph.check(answer)
        following = next_byte(answer)
        if following is not None and following <= start:
            raise broken_off("upload_stuck")  # the part would be sent for ever
        return following


def broken_off(word: str) -> Failure:
    """Our failure for an upload that cannot go on now; the next attempt looks how far it came."""
    return Transient(f"{PROVIDER}: an upload broke off, {word}", code=f"{PROVIDER}.{word}")


def next_byte(answer: RestAnswer) -> int | None:
    """The first byte that is missing, by `nextExpectedRanges`; None when none is.

    Graph writes a range with and without an end: `0-`, `2097152`, `2097152-3483321`.
    """
    found = document_of(answer)
    ranges = found.get("nextExpectedRanges", found.get("NextExpectedRanges"))
    if not isinstance(ranges, list):
        raise unreadable(PROVIDER, answer.status)
    starts = [_NEXT.fullmatch(one) for one in ranges if isinstance(one, str)]
    if len(starts) != len(ranges) or None in starts:
        raise unreadable(PROVIDER, answer.status)
    return min((int(one[1]) for one in starts if one is not None), default=None)

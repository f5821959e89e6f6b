"""Upload sessions: parts in order to an address that grants access by itself, and a bound on bytes in 30 seconds."""

import re
import secrets
from collections import deque
from dataclasses import dataclass, field

from sandbox.emulator.clock import EmulatorClock
from sandbox.emulator.exchange import Answer, ApiFailure, Call, Json
from sandbox.emulator.written_mail import WrittenFile
from sandbox.microsoft.mailbox import Mailbox

SMALLEST, LARGEST = 2_097_152, 150 * 1024 * 1024
LARGEST_PART = 4_194_304
WINDOW_S = 30.0
LASTS_S = 3600.0
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


@dataclass(slots=True)
class UploadSession:
    """A file of which some bytes are here."""

    mailbox: Mailbox
    draft_id: str
    name: str
    content_type: str
    size: int
    token: str
    expires_at: float
    data: bytearray = field(default_factory=bytearray)


class UploadSessions:
    """All uploads; the service holds a lock around each call."""

    def __init__(self, clock: EmulatorClock) -> None:
        """None is under way."""
        self._clock = clock
        self._sessions: dict[str, UploadSession] = {}
        self._sent: dict[str, deque[tuple[float, int]]] = {}

    def begin(self, mailbox: Mailbox, draft_id: str, item: Json, base_url: str) -> Answer:
        """`createUploadSession`; refuses a file that is too small for it, or too large for the mailbox."""
        size = item.get("size")
        if item.get("attachmentType") != "file" or not item.get("name") or not isinstance(size, int):
            raise ApiFailure(400, "BadRequest", "The attachment item is not valid.")
        if size < SMALLEST:
            raise ApiFailure(400, "ErrorAttachmentSizeShouldNotBeLessThanMinimumSize", "The file is too small.")
        draft = mailbox.draft(draft_id, self._clock.now())
        if size > LARGEST:
            raise ApiFailure(413, "ErrorAttachmentSizeLimitExceeded", "The file is too large.")
        mailbox.need_room(draft, size)
        number, token = secrets.token_urlsafe(12), secrets.token_urlsafe(24)
        kind = str(item.get("contentType") or "application/octet-stream")
        session = UploadSession(mailbox, draft_id, str(item["name"]), kind, size, token, self._clock.now() + LASTS_S)
        self._sessions[number] = session
        url = f"{base_url}/uploads/{number}?authtoken={token}"
        return Answer(201, {"uploadUrl": url, "nextExpectedRanges": ["0-"]}, summary={"draft_id": draft_id})

    def show(self, call: Call) -> Answer:
        """`GET uploadUrl`: what is still expected."""
        session = self._session(call)
        return Answer(body={"nextExpectedRanges": [f"{len(session.data)}-"]})

    def put(self, call: Call) -> Answer:
        """`PUT uploadUrl`: one part; the last one attaches the file."""
        session = self._session(call)
        start, end, size = self._range(call)
        if size != session.size or end - start + 1 != len(call.body) or len(call.body) > LARGEST_PART:
            raise ApiFailure(400, "InvalidRange", "The range does not fit the content.")
        if start != len(session.data):
            raise ApiFailure(416, "InvalidRange", "The range is not expected.")
        self._throttle(session.mailbox, len(call.body))
        session.data += call.body
        summary = {"bytes": len(call.body), "from": start}
        if len(session.data) < session.size:
            return Answer(body={"NextExpectedRanges": [str(len(session.data))]}, summary=summary)
        del self._sessions[call.parameters["session"]]
        draft = session.mailbox.draft(session.draft_id, self._clock.now())
        file = WrittenFile(session.name, session.content_type, bytes(session.data))
        file_id = session.mailbox.attach(draft, file)
        return Answer(201, headers={"Location": f"https://outlook.example.com/attachments/{file_id}"}, summary=summary)

    def reset(self) -> None:
        """Forget all."""
        self._sessions.clear()
        self._sent.clear()

    def expire(self) -> None:
        """Let every session expire."""
        self._sessions.clear()

    def _session(self, call: Call) -> UploadSession:
        if "authorization" in call.headers:
            raise ApiFailure(401, "InvalidAudience", "The address grants access by itself.")
        session = self._sessions.get(call.parameters["session"])
        if session is None or session.expires_at <= self._clock.now():
            raise ApiFailure(404, "itemNotFound", "The upload session was not found.")
        if not secrets.compare_digest(session.token, call.first("authtoken")):
            raise ApiFailure(401, "unauthenticated", "The token is not valid.")
        return session

    @staticmethod
    def _range(call: Call) -> tuple[int, int, int]:
        found = _RANGE.fullmatch(call.headers.get("content-range", ""))
        if found is None:
            raise ApiFailure(400, "InvalidRange", "Content-Range is missing.")
        return int(found[1]), int(found[2]), int(found[3])

    def _throttle(self, mailbox: Mailbox, size: int) -> None:
        most = mailbox.knobs.upload_per_30_s
        if most is None:
            return
        now = self._clock.now()
        sent = self._sent.setdefault(mailbox.address, deque())
        while sent and sent[0][0] <= now - WINDOW_S:
            sent.popleft()
        if sent and sum(bytes_ for _, bytes_ in sent) + size > most:
            wait = int(sent[0][0] + WINDOW_S - now) + 1
            raise ApiFailure(429, "ApplicationThrottled", "Upload is throttled.", {"Retry-After": str(wait)})
        sent.append((now, size))

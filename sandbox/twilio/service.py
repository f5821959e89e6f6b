"""Twilio's Messages: each POST makes a message, so who calls twice makes two; a list shows them late if so told."""

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import format_datetime
from threading import Lock
from urllib.parse import parse_qsl

from sandbox.emulator.clock import EmulatorClock
from sandbox.emulator.exchange import Answer, ApiFailure, Call, Json, Route

ACCOUNT = "AC" + "0123456789abcdef" * 2
TOKEN = "0123456789abcdef" * 2
LONGEST_BODY = 1_600
CODES: Mapping[str, int] = {
    "authenticate": 20003,
    "notFound": 20404,
    "tooMany": 20429,
    "internal": 20500,
    "invalid_to": 21211,
    "no_body": 21602,
    "no_sender": 21603,
    "stopped": 21610,
    "landline": 21614,
    "too_long": 21617,
}
"""Twilio's numbers for what it refuses."""


class TwilioService:
    """One account, whose token is accepted until it is revoked."""

    def __init__(self) -> None:
        """Begin without messages."""
        self.clock = EmulatorClock()
        self.messages: list[Json] = []
        self.callbacks: dict[str, str] = {}
        """By message: where to post what becomes of it."""
        self.refused: dict[str, str] = {}
        """By number: why it takes no messages, a key of `CODES`."""
        self.hidden_lists = 0
        """So many lists from now on show nothing of the last five minutes."""
        self.is_revoked = False
        self._lock = Lock()
        path = "/2010-04-01/Accounts/{account}/Messages.json"
        self.routes: Sequence[Route] = (
            Route("POST", path, "messages.create", self.create),
            Route("GET", path, "messages.list", self.list),
        )

    def identify(self, call: Call) -> str | None:
        """The account, by its id and token."""
        wanted = base64.b64encode(f"{ACCOUNT}:{TOKEN}".encode()).decode()
        if call.headers.get("authorization") != f"Basic {wanted}" or self.is_revoked:
            raise ApiFailure(401, "authenticate", "Authenticate")
        if call.parameters["account"] != ACCOUNT:
            raise ApiFailure(404, "notFound", "The requested resource was not found")
        return ACCOUNT

    @contextmanager
    def admit(self, call: Call) -> Iterator[None]:  # noqa: ARG002 - the frame's signature
        """No limit but those that are ordered."""
        yield

    def render(self, call: Call, failure: ApiFailure) -> Answer:  # noqa: ARG002 - as above
        """Twilio's error: its number, words, a page, the status."""
        number = CODES.get(failure.reason, 20500)
        more = f"https://www.twilio.com/docs/errors/{number}"
        body = {"code": number, "message": failure.message, "more_info": more, "status": failure.status}
        return Answer(failure.status, body, failure.headers)

    def create(self, call: Call) -> Answer:
        """`POST …/Messages.json`: a new message each time."""
        form = dict(parse_qsl(call.body.decode(), keep_blank_values=True))
        _check(form)
        to = form["To"]
        if to in self.refused:
            raise ApiFailure(400, self.refused[to], f"the number {to} is refused")
        with self._lock:
            number = len(self.messages) + 1
            sid = "SM" + hashlib.md5(str(number).encode(), usedforsecurity=False).hexdigest()
            message = {
                "sid": sid,
                "account_sid": ACCOUNT,
                "to": to,
                "from": form.get("From"),
                "messaging_service_sid": form.get("MessagingServiceSid"),
                "body": form["Body"],
                "status": "queued",
                "direction": "outbound-api",
                "date_created": format_datetime(datetime.fromtimestamp(self.clock.now(), UTC)),
                "date_sent": None,
            }
            self.messages.append(message | {"made_at": self.clock.now()})
            if "StatusCallback" in form:
                self.callbacks[sid] = form["StatusCallback"]
        digest = hashlib.sha256(form["Body"].encode()).hexdigest()
        return Answer(201, message, summary={"sid": sid, "to": to, "sha256": digest})

    def list(self, call: Call) -> Answer:
        """`GET …/Messages.json`: the newest first, to one number if one is named, in pages."""
        size, page = min(call.number("PageSize", 50), 1000), call.number("Page", 0)
        with self._lock:
            late = self.hidden_lists > 0
            self.hidden_lists = max(0, self.hidden_lists - 1)
            since = self.clock.now() - 300 if late else float("inf")
            found = [
                {name: value for name, value in one.items() if name != "made_at"}
                for one in reversed(self.messages)
                if call.first("To") in {"", one["to"]} and one["made_at"] < since
            ]
        shown = found[page * size : (page + 1) * size]
        is_last = (page + 1) * size >= len(found)
        following = f"{call.path}?To={call.first('To').replace('+', '%2B')}&PageSize={size}&Page={page + 1}"
        return Answer(body={"messages": shown, "next_page_uri": None if is_last else following})

    def reset(self) -> None:
        """No messages, every number takes messages, real time."""
        with self._lock:
            self.messages.clear()
            self.callbacks.clear()
            self.refused.clear()
            self.hidden_lists, self.is_revoked = 0, False
        self.clock.reset()

    def close(self) -> None:
        """Nothing runs in the background."""


def _check(form: Mapping[str, str]) -> None:
    """Refuse what Twilio refuses."""
    if not form.get("To", "").startswith("+") or not form["To"][1:].isdigit():
        raise ApiFailure(400, "invalid_to", "The 'To' number is not a valid phone number")
    if not form.get("From") and not form.get("MessagingServiceSid"):
        raise ApiFailure(400, "no_sender", "A 'From' number is required")
    if not form.get("Body"):
        raise ApiFailure(400, "no_body", "Message body is required")
    if len(form["Body"]) > LONGEST_BODY:
        raise ApiFailure(400, "too_long", "The concatenated message body exceeds the 1600 character limit")

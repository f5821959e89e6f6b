"""An alert as a signed JSON document (docs: alerts.md#the-signed-webhook)."""

import hashlib
import hmac
import json
from collections.abc import Callable
from datetime import datetime

from providers.ports import Meter, Notice
from providers.rest_client import utc_now
from providers.webhooks.post import PostClient

SIGNATURE = "Postroom-Signature"
NOTICE_ID = "Postroom-Alert-Id"


class SignedWebhook(PostClient):
    """Implements `providers.ports.AlertChannel` for a receiver of the operator's own."""

    def __init__(
        self, url: str, secret: str, *, timeout_s: float, meter: Meter, clock: Callable[[], datetime] = utc_now
    ) -> None:
        """As `PostClient`; `secret` is shared with the receiver."""
        super().__init__(url, timeout_s=timeout_s, meter=meter, clock=clock)
        self._secret = secret

    def send(self, notice: Notice) -> None:
        """Post it; the receiver tells a repetition by the id."""
        body = body_of(notice)
        at = int(self.now().timestamp())
        self.post(body, {SIGNATURE: signature(self._secret, at, body), NOTICE_ID: str(notice.notice_id)})


def body_of(notice: Notice) -> bytes:
    """The document that is signed; the same notice makes the same bytes."""
    document = {
        "id": str(notice.notice_id), "kind": notice.kind, "title": notice.title, "text": notice.text, **notice.facts,
    }  # fmt: skip
    return json.dumps(document, sort_keys=True).encode()


def signature(secret: str, at: int, body: bytes) -> str:
    """The header's value: the time in seconds, and the HMAC-SHA256 of the time, a dot and the body, in hex."""
    digest = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"

"""Mail by Resend: one POST under a key of ours, whose bytes are stored before the first call (docs: resend.md).

One mail is one call: a batch has one key for all its mails and takes no attachments, so no mail of it could be found.
"""

import base64
import json
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from pydantic import SecretStr

from domain.jobs.failures import Invalid
from domain.mail.outgoing.header_lines import mailbox_text
from domain.mail.outgoing.outgoing_mail import attachment_name
from domain.payloads.mail_address import Address
from providers.ports import Meter
from providers.ports.email import EmailAttachment, OutgoingEmail, SentEmail
from providers.resend.failures import PROVIDER, failure_of
from providers.rest_client import RestClient, unreadable, utc_now

LONGEST_KEY = 256
"""Characters (https://resend.com/docs/dashboard/emails/idempotency-keys)."""
MOST_RECIPIENTS = 50
"""In `to` (docs: resend.md#sending)."""
LARGEST_REQUEST = 40_000_000
"""Bytes of a mail with its attachments as base64 (docs: resend.md#sending)."""

_API_KEY = re.compile(r"[!-~]{1,500}")


class ResendSender(RestClient):
    """Implements `providers.ports.email.KeyedSender`."""

    def __init__(
        self,
        api_key: SecretStr,
        *,
        account: str,
        api_url: str,
        timeout_s: float,
        meter: Meter,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """`account` names whose key it is, for `Unauthorised`; `timeout_s` bounds each call in all.

        Raises `Invalid` for a key that cannot stand in a header.
        """
        if not _API_KEY.fullmatch(api_key.get_secret_value()):
            raise Invalid("api_key", "must be a key such as Resend's page shows it, without spaces")
        self._key = api_key
        self._account = account
        self._url = f"{api_url.rstrip('/')}/emails"
        super().__init__(PROVIDER, timeout_s=timeout_s, meter=meter)
        self._clock = clock

    def request(self, email: OutgoingEmail) -> bytes:
        """The body of the request; the same mail makes the same bytes, which Resend compares."""
        return request_of(email)

    def send(self, key: str, request: bytes) -> SentEmail:
        """Send it; under a key that Resend knows it sends nothing, and returns the first answer's id."""
        if not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
            raise Invalid("key", f"must be 1 to {LONGEST_KEY} visible characters of ASCII")
        headers = {
            "Authorization": f"Bearer {self._key.get_secret_value()}",
            "Content-Type": "application/json",
            "Idempotency-Key": key,
        }
        answer = self.call("emails.send", "POST", self._url, headers=headers, body=request)
        failure = failure_of(answer, self._clock(), self._account)
        if failure is not None:
            raise failure
        found = answer.word("id")
        if not found:
            raise unreadable(PROVIDER, answer.status)
        return SentEmail(found)


def request_of(email: OutgoingEmail) -> bytes:
    """The body of `POST /emails`; pure. Raises `Invalid` for what Resend would refuse."""
    if len(email.to) > MOST_RECIPIENTS:
        raise Invalid("to", f"names {len(email.to)} addresses; Resend takes at most {MOST_RECIPIENTS}")
    document: dict[str, Any] = {
        "from": mailbox_text(email.sender),
        "to": _texts(email.to),
        "cc": _texts(email.cc),
        "bcc": _texts(email.bcc),
        "reply_to": _texts(email.reply_to),
        "subject": email.subject,
        "text": email.text,
        "html": email.html,
        "headers": dict(email.headers),
        "attachments": [_file(one) for one in email.attachments],
    }
    document = {name: value for name, value in document.items() if value not in (None, [], {})}
    request = json.dumps(document, sort_keys=True).encode()
    if len(request) > LARGEST_REQUEST:
        raise Invalid("attachments", f"make a mail of {len(request)} bytes; Resend takes at most {LARGEST_REQUEST}")
    return request


def _file(one: EmailAttachment) -> dict[str, str]:
    return {
        "filename": attachment_name(one.name),
        "content_type": one.content_type,
        "content": base64.b64encode(one.read()).decode(),
    }


def _texts(addresses: Sequence[Address]) -> list[str]:
    return [mailbox_text(one) for one in addresses]

"""Text messages by Twilio: one POST, and a list of what was sent (docs: twilio.md)."""

import base64
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlencode

from pydantic import SecretStr

from domain.jobs.failures import Transient
from providers.ports import Meter
from providers.ports.sms import OutgoingSms
from providers.rest_client import RestAnswer, RestClient, unreadable, utc_now
from providers.secret_texts import bad_secret, read_texts
from providers.twilio.failures import PROVIDER, failure_of

PAGE, MOST_PAGES = 100, 5
"""Messages to one number in the minutes since an attempt; more than 500 are no person's."""
_PLAIN = re.compile("[A-Za-z0-9]{1,100}")
CLOCKS_APART = timedelta(minutes=5)
"""How far our clock may be ahead of Twilio's."""


class TwilioSender(RestClient):
    """Implements `providers.ports.sms.SmsSender`."""

    def __init__(
        self,
        secret: SecretStr,
        *,
        from_name: str,
        api_url: str,
        timeout_s: float,
        meter: Meter,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """`from_name` is a number of the account's, or the id of a messaging service (`MG…`).

        Raises `CredentialsLost` for a secret without `account_sid` and `auth_token`.
        """
        account_sid, auth_token = read_texts(PROVIDER, secret, "account_sid", "auth_token")
        if not (_PLAIN.fullmatch(account_sid) and _PLAIN.fullmatch(auth_token)):
            raise bad_secret(PROVIDER, "has an account_sid or an auth_token that is none")
        self._from_name = from_name
        self._origin = api_url.rstrip("/")
        self._url = f"{self._origin}/2010-04-01/Accounts/{account_sid}/Messages.json"
        basic = base64.b64encode(f"{account_sid}:{auth_token}".encode()).decode()
        self._headers = {"Authorization": f"Basic {basic}", "Accept": "application/json"}
        super().__init__(PROVIDER, timeout_s=timeout_s, meter=meter)
        self._clock = clock

    def send(self, message: OutgoingSms) -> str:
        """Send it, once: the same call again would send a second message."""
        by = "MessagingServiceSid" if self._from_name.startswith("MG") else "From"
        fields = {"To": message.to, by: self._from_name, "Body": message.body}
        if message.callback_url is not None:
            fields["StatusCallback"] = message.callback_url
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = self._call("messages.create", "POST", self._url, headers, urlencode(fields).encode())
        sid = answer.word("sid")
        if not sid:
            raise unreadable(PROVIDER, answer.status)
        return sid

    def sent_since(self, message: OutgoingSms, since: datetime) -> Sequence[str]:
        """The newest messages to the number are looked through until they are older than the attempt."""
        found = [
            str(one["sid"])
            for one in self._messages_to(message.to, since - CLOCKS_APART)
            if one.get("body") == message.body and str(one.get("direction", "")).startswith("outbound")
        ]
        return found[::-1]

    def _messages_to(self, number: str, since: datetime) -> Iterator[dict[str, Any]]:
        url = f"{self._url}?{urlencode({'To': number, 'PageSize': PAGE})}"
        for _ in range(MOST_PAGES):
            answer = self._call("messages.list", "GET", url, {}, None)
            listed = answer.field("messages")
            if not isinstance(listed, list):
                raise unreadable(PROVIDER, answer.status)
            for one in listed:
                if _created_at(one) < since:
                    return
                yield one
            following = answer.word("next_page_uri")
            if not following.startswith("/"):
                return
            url = self._origin + following

    def _call(self, operation: str, method: str, url: str, headers: dict[str, str], body: bytes | None) -> RestAnswer:
        answer = self.call(operation, method, url, headers=self._headers | headers, body=body)
        failure = failure_of(answer, self._clock())
        if failure is not None:
            raise failure
        return answer


def _created_at(one: dict[str, Any]) -> datetime:
    """When Twilio made a message, as RFC 2822 writes it."""
    try:
        made = parsedate_to_datetime(str(one["date_created"]))
    except (KeyError, TypeError, ValueError):
        raise Transient(f"{PROVIDER}: unreadable list", code=f"{PROVIDER}.unreadable") from None
    return made if made.tzinfo else made.replace(tzinfo=UTC)

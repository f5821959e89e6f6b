"""Messages to devices by the HTTP v1 API of Firebase Cloud Messaging (docs: fcm.md)."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from pydantic import SecretStr

from domain.jobs.failures import CallState, Failure
from providers.fcm.failures import PROVIDER, failure_of
from providers.fcm.tokens import AccessToken, ServiceAccountTokens, TokenStore
from providers.ports import Meter
from providers.ports.push import OutgoingPush
from providers.rest_client import RestClient, unreadable, utc_now

LONGEST_TTL = timedelta(days=28)
"""The most that FCM keeps a message (https://firebase.google.com/docs/cloud-messaging/concept-options#ttl)."""


class FcmSender(RestClient):
    """Implements `providers.ports.push.PushSender`."""

    def __init__(  # noqa: PLR0913 - two addresses, and what every client takes
        self,
        secret: SecretStr,
        *,
        project: str,
        api_url: str,
        token_url: str,
        tokens: TokenStore,
        timeout_s: float,
        meter: Meter,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """`project` is the id of the Firebase project, `tokens` keeps its tokens from one message to the next."""
        self._url = f"{api_url.rstrip('/')}/v1/projects/{quote(project, safe='')}/messages:send"
        super().__init__(PROVIDER, timeout_s=timeout_s, meter=meter)
        self._clock = clock
        self._tokens = ServiceAccountTokens(secret, token_url, self, tokens, clock)

    def send(self, message: OutgoingPush) -> str:
        """Send it, in one call. FCM takes a repetition for another message, which a device shows in its place."""
        token = self._token()
        headers = {"Authorization": f"Bearer {token.value.get_secret_value()}", "Content-Type": "application/json"}
        # In UTF-8: a letter that is escaped would count twice and thrice against FCM's 4,096 bytes.
        body = json.dumps(document_of(message, self._clock()), ensure_ascii=False).encode()
        answer = self.call("messages.send", "POST", self._url, headers=headers, body=body)
        if answer.status == HTTPStatus.UNAUTHORIZED:
            self._tokens.drop()
        failure = failure_of(answer, self._clock(), is_token_fresh=token.is_fresh)
        if failure is not None:
            raise failure
        name = answer.word("name")
        if not name:
            raise unreadable(PROVIDER, answer.status)
        return name

    def _token(self) -> AccessToken:
        """The token; where its answer is lost, no message was sent."""
        try:
            return self._tokens.get()
        except Failure as failure:
            failure.call_state = CallState.NOT_DONE
            raise


def document_of(message: OutgoingPush, now: datetime) -> dict[str, Any]:
    """The body of the request; pure. A device that is away gets the message within `ttl` or never.

    A tag of the message's own has a device show a repetition in the first one's place. There is no `collapse_key`: FCM
    keeps four for a device that is away, and drops messages of any others (docs: fcm.md#once).
    """
    ttl = max(timedelta(0), min(message.ttl, LONGEST_TTL))
    lasts, until = int(ttl.total_seconds()), int((now + ttl).timestamp())
    document: dict[str, Any] = {
        "token": message.token,
        "notification": {"title": message.title, "body": message.body},
        "android": {"ttl": f"{lasts}s", "notification": {"tag": message.tag}},
        "apns": {"headers": {"apns-expiration": str(until), "apns-collapse-id": message.tag}},
        "webpush": {"headers": {"TTL": str(lasts)}, "notification": {"tag": message.tag}},
    }
    if message.link is not None:
        document["data"] = {"link": message.link}
        document["webpush"]["fcm_options"] = {"link": message.link}
    return {"message": document}

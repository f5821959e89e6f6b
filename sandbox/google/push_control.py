"""Control calls for pushes: their endpoint, and single pushes that may be wrong, duplicate, old or malformed."""

import base64
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, fields

from sandbox.emulator.exchange import Answer, ApiFailure, Call, Json, Route
from sandbox.google.api.pubsub_push import PushConfig
from sandbox.google.api.service import GmailService
from sandbox.google.api.watch import wrap

TWO_HOURS_S = 7_200.0
UNKNOWN_KID = "0" * 40


def push_routes(service: GmailService) -> tuple[Route, ...]:
    """The two control calls of the push side."""
    control = _PushControl(service)
    return (
        Route("POST", "/_control/push_config", "control.push_config", control.configure),
        Route("GET", "/_control/push_config", "control.push_config", control.show),
        Route("POST", "/_control/push", "control.push", control.push),
    )


class _PushControl:
    def __init__(self, service: GmailService) -> None:
        self._service = service

    def configure(self, call: Call) -> Answer:
        """What is not named takes its default; an unknown name is refused."""
        wish = call.json()
        unknown = set(wish) - {field.name for field in fields(PushConfig)}
        if unknown:
            raise ApiFailure(400, "unknownField", f"push knows no {sorted(unknown)}")
        self._service.push.configure(PushConfig(**wish))
        return self.show(call)

    def show(self, _call: Call) -> Answer:
        """The configuration, and how many deliveries still wait."""
        push = self._service.push
        return Answer(body={**asdict(push.config), "pending": push.pending()})

    def push(self, call: Call) -> Answer:
        """Post at once, `copies` at the same time and with one id; the answers' statuses come back. No redelivery."""
        wish, push = call.json(), self._service.push
        email = str(wish.get("email", ""))
        if not push.config.url:
            raise ApiFailure(400, "notConfigured", "set the endpoint with /_control/push_config first")
        envelope = wrap(self._data(email, wish), push)
        token = self._token(wish)
        copies = int(wish.get("copies", 1))
        with ThreadPoolExecutor(copies) as pool:
            answers = [pool.submit(push.post, envelope, token, email) for _ in range(copies)]
            return Answer(body={"statuses": [answer.result() for answer in answers]})

    def _data(self, email: str, wish: Json) -> str:
        if "garbage" in wish:
            return str(wish["garbage"])
        mailbox = self._service.mailboxes.get(email)
        history_id = wish.get("history_id", mailbox.history.current if mailbox else 1)
        value: int | str = int(history_id) if wish.get("history_id_as_number") else str(history_id)
        data = json.dumps({"emailAddress": email, "historyId": value}).encode()
        if wish.get("url_safe_unpadded"):
            return base64.urlsafe_b64encode(data).decode().rstrip("=")
        return base64.b64encode(data).decode()

    def _token(self, wish: Json) -> str:
        push = self._service.push
        return push.token(
            str(wish.get("audience", push.config.audience)),
            str(wish.get("service_account", push.config.service_account)),
            TWO_HOURS_S if wish.get("expired") else 0.0,
            UNKNOWN_KID if wish.get("unknown_kid") else None,
        )

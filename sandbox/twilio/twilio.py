"""The Twilio emulator: `python -m sandbox.twilio.twilio --port N`, or `twilio_emulator()` inside a test."""

from collections.abc import Sequence

from sandbox.emulator.emulator import Emulator, parser, run
from sandbox.emulator.exchange import Answer, ApiFailure, Call, Route
from sandbox.emulator.journal import Journal
from sandbox.twilio.callbacks import CallbackOrder, Callbacks
from sandbox.twilio.service import ACCOUNT, TOKEN, TwilioService


def twilio_emulator(port: int = 0) -> Emulator:
    """An emulator of one account; a context manager."""
    service, journal = TwilioService(), Journal()
    return Emulator(service, journal, port, TwilioOrders(service, Callbacks(journal, TOKEN)).routes)


class TwilioOrders:
    """The control calls of the emulator: what tests read and set."""

    def __init__(self, service: TwilioService, callbacks: Callbacks) -> None:
        """For one emulator."""
        self._service, self._callbacks = service, callbacks
        self.routes: Sequence[Route] = (
            Route("GET", "/_control/messages", "control.messages", self.list_messages),
            Route("POST", "/_control/numbers", "control.numbers", self.refuse),
            Route("POST", "/_control/lists", "control.lists", self.hide_lists),
            Route("POST", "/_control/token", "control.token", self.revoke),
            Route("POST", "/_control/clock", "control.clock", self.advance_clock),
            Route("POST", "/_control/callbacks", "control.callbacks", self.send_callbacks),
        )

    def list_messages(self, _call: Call) -> Answer:
        """Every message that was taken."""
        urls = self._service.callbacks
        return Answer(
            body={"messages": [one | {"callback_url": urls.get(one["sid"])} for one in self._service.messages]}
        )

    def refuse(self, call: Call) -> Answer:
        """A number takes no messages, or takes them again."""
        asked = call.json()
        self._service.refused.pop(str(asked["number"]), None)
        if asked["reason"]:
            self._service.refused[str(asked["number"])] = str(asked["reason"])
        return Answer(body={})

    def hide_lists(self, call: Call) -> Answer:
        """The next lists are late."""
        self._service.hidden_lists = int(call.json()["hidden"])
        return Answer(body={})

    def revoke(self, call: Call) -> Answer:
        """The token is refused, or taken."""
        self._service.is_revoked = bool(call.json()["revoked"])
        return Answer(body={})

    def advance_clock(self, call: Call) -> Answer:
        """Let time pass."""
        return Answer(body={"now": self._service.clock.advance(float(call.json().get("advance_s", 0)))})

    def send_callbacks(self, call: Call) -> Answer:
        """Post what becomes of a message; one that was never taken is as good as any other, at `to_url`."""
        asked = call.json()
        order = CallbackOrder(**{**asked, "statuses": tuple(asked["statuses"])})
        known = next((one for one in self._service.messages if one["sid"] == order.sid), None)
        url = self._service.callbacks.get(order.sid, order.to_url)
        if not url:
            raise ApiFailure(400, "notFound", "the message has no address for callbacks")
        unknown = {"sid": order.sid, "account_sid": ACCOUNT, "to": "+15005550006", "from": ""}
        return Answer(body={"answers": self._callbacks.send(order, known or unknown, url)})


def main() -> None:
    """Serve until a signal comes."""
    words = f"An emulator of Twilio: the account {ACCOUNT} with the token {TOKEN}."
    run(twilio_emulator(parser(words).parse_args().port))


if __name__ == "__main__":
    main()

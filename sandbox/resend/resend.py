"""The Resend emulator: `python -m sandbox.resend.resend --port N`, or `resend_emulator()` inside a test."""

from collections.abc import Sequence

from sandbox.emulator.emulator import Emulator, parser, run
from sandbox.emulator.exchange import Answer, Call, Route
from sandbox.emulator.journal import Journal
from sandbox.resend.callbacks import CallbackOrder, Callbacks
from sandbox.resend.service import ResendService

QUOTAS = ("per_second", "per_day", "per_month")


def resend_emulator(port: int = 0) -> Emulator:
    """An emulator of one team, whose keys are accepted until they are revoked; a context manager."""
    service, journal = ResendService(), Journal()
    return Emulator(service, journal, port, ResendOrders(service, Callbacks(journal)).routes)


class ResendOrders:
    """The control calls of the emulator: what tests read and set."""

    def __init__(self, service: ResendService, callbacks: Callbacks) -> None:
        """For one emulator."""
        self._service = service
        self._callbacks = callbacks
        self.routes: Sequence[Route] = (
            Route("GET", "/_control/emails", "control.emails", self.list_emails),
            Route("GET", "/_control/emails/{email}/raw", "control.raw", self.show_raw),
            Route("POST", "/_control/quotas", "control.quotas", self.set_quotas),
            Route("POST", "/_control/revoked", "control.revoked", self.revoke),
            Route("POST", "/_control/clock", "control.clock", self.advance_clock),
            Route("POST", "/_control/callbacks", "control.callbacks", self.configure),
            Route("POST", "/_control/callbacks/send", "control.send_callbacks", self.send_callbacks),
        )

    def list_emails(self, _call: Call) -> Answer:
        """Every mail that was taken."""
        return Answer(body={"emails": list(self._service.emails)})

    def show_raw(self, call: Call) -> Answer:
        """What a mail's recipients get."""
        raw = self._service.mails[call.parameters["email"]].raw()
        return Answer(body=raw, headers={"Content-Type": "message/rfc822"})

    def set_quotas(self, call: Call) -> Answer:
        """Limits from now on."""
        for name, most in call.json().items():
            if name not in QUOTAS:
                raise ValueError(f"no quota {name}; there are {', '.join(QUOTAS)}")
            setattr(self._service, name, most)
        return Answer(body={})

    def revoke(self, call: Call) -> Answer:
        """Refuse these keys, and no others."""
        self._service.revoked = set(call.json()["keys"])
        return Answer(body={})

    def advance_clock(self, call: Call) -> Answer:
        """Let time pass."""
        return Answer(body={"now": self._service.clock.advance(float(call.json().get("advance_s", 0)))})

    def configure(self, call: Call) -> Answer:
        """Where callbacks go, and what signs them."""
        asked = call.json()
        self._callbacks.url = str(asked["url"])
        self._callbacks.secret = str(asked.get("secret") or self._callbacks.secret)
        return Answer(body={"secret": self._callbacks.secret})

    def send_callbacks(self, call: Call) -> Answer:
        """Send events of a mail; an id that was never given is as good as any other."""
        asked = call.json()
        order = CallbackOrder(**{**asked, "types": tuple(asked["types"])})
        known = [one for one in self._service.emails if one["id"] == order.email_id]
        email = known[0] if known else {"id": order.email_id, "created_at": "", "from": "", "to": [], "subject": ""}
        return Answer(body={"statuses": self._callbacks.send(order, email, self._service.clock.now())})


def main() -> None:
    """Serve until a signal comes."""
    run(resend_emulator(parser("An emulator of Resend: every key is accepted until it is revoked.").parse_args().port))


if __name__ == "__main__":
    main()

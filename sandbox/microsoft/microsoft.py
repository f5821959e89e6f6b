"""The Microsoft emulator: `python -m sandbox.microsoft.microsoft --port N`, or `microsoft_emulator()` inside a test.

Graph is at `/v1.0`, the login server at the root: both settings take the emulator's address.
"""

from collections.abc import Sequence
from dataclasses import fields

from sandbox.emulator.emulator import Emulator, parser, run
from sandbox.emulator.exchange import Answer, Call, Route
from sandbox.emulator.journal import Journal
from sandbox.microsoft.mailbox import Knobs
from sandbox.microsoft.service import MicrosoftService
from sandbox.microsoft.tokens import Application


def microsoft_emulator(port: int = 0) -> Emulator:
    """An emulator of one tenant whose mailboxes are there as soon as they are named; a context manager."""
    service = MicrosoftService()
    return Emulator(service, Journal(), port, MicrosoftOrders(service).routes)


class MicrosoftOrders:
    """The control calls of the emulator: what tests read and set."""

    def __init__(self, service: MicrosoftService) -> None:
        """For one emulator."""
        self._service = service
        self.routes: Sequence[Route] = (
            Route("GET", "/_control/mailboxes/{mailbox}", "control.mailbox", self.show),
            Route("GET", "/_control/mailboxes/{mailbox}/messages/{message}/raw", "control.raw", self.show_raw),
            Route("POST", "/_control/mailboxes/{mailbox}/knobs", "control.knobs", self.turn),
            Route("POST", "/_control/applications", "control.applications", self.register),
            Route("POST", "/_control/revoked", "control.revoked", self.revoke),
            Route("POST", "/_control/tokens/expire", "control.expire_tokens", self.expire_tokens),
            Route("POST", "/_control/uploads/expire", "control.expire_uploads", self.expire_uploads),
            Route("POST", "/_control/clock", "control.clock", self.advance_clock),
        )

    def show(self, call: Call) -> Answer:
        """Everything in a mailbox."""
        return Answer(body=self._service.mailbox(call.parameters["mailbox"]).state())

    def show_raw(self, call: Call) -> Answer:
        """What a mail's recipients get, or would get."""
        mailbox = self._service.mailbox(call.parameters["mailbox"])
        (found,) = [one for one in mailbox.messages if one.message_id == call.parameters["message"]]
        return Answer(body=found.mail.raw(), headers={"Content-Type": "message/rfc822"})

    def turn(self, call: Call) -> Answer:
        """Set any of `sandbox.microsoft.mailbox.Knobs`."""
        mailbox = self._service.mailbox(call.parameters["mailbox"])
        for name, value in call.json().items():
            if name not in {one.name for one in fields(Knobs)}:
                raise ValueError(f"a mailbox knows no {name}")
            setattr(mailbox.knobs, name, value)
        return Answer(body={})

    def register(self, call: Call) -> Answer:
        """Let an application sign in with its secret or certificate alone."""
        application = Application(**call.json())
        self._service.login.applications[application.client_id] = application
        return Answer(body={})

    def revoke(self, call: Call) -> Answer:
        """Refuse these applications, and no others."""
        self._service.login.revoked = set(call.json()["client_ids"])
        return Answer(body={})

    def expire_tokens(self, _call: Call) -> Answer:
        """Let every token expire."""
        self._service.login.expire()
        return Answer(body={})

    def expire_uploads(self, _call: Call) -> Answer:
        """Let every upload session expire."""
        self._service.uploads.expire()
        return Answer(body={})

    def advance_clock(self, call: Call) -> Answer:
        """Let time pass."""
        return Answer(body={"now": self._service.clock.advance(float(call.json().get("advance_s", 0)))})


def main() -> None:
    """Serve until a signal comes."""
    run(microsoft_emulator(parser("An emulator of Microsoft Graph and of Entra ID's tokens.").parse_args().port))


if __name__ == "__main__":
    main()

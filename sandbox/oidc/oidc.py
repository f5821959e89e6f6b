"""The emulator of a provider: `python -m sandbox.oidc.oidc --port N`, or `oidc_emulator()` inside a test."""

from typing import Any

from sandbox.emulator.client import EmulatorControl
from sandbox.emulator.emulator import Emulator, parser, run
from sandbox.emulator.exchange import Answer, Call, Route
from sandbox.emulator.journal import Journal
from sandbox.oidc.service import CLIENT_ID, OidcService, TokenOrder


def oidc_emulator(port: int = 0) -> Emulator:
    """An emulator of one provider; a context manager."""
    service = OidcService()

    def set_person(call: Call) -> Answer:
        order = call.json()
        service.person = order["person"]
        service.signed_in_ago_s, service.heeds_prompt = int(order["signed_in_ago_s"]), bool(order["heeds_prompt"])
        return Answer(body={})

    def order_tokens(call: Call) -> Answer:
        service.order = TokenOrder(**call.json())
        return Answer(body={})

    def set_document(call: Call) -> Answer:
        service.document = call.json()
        return Answer(body={})

    control = (
        Route("POST", "/_control/person", "control.person", set_person),
        Route("POST", "/_control/tokens", "control.tokens", order_tokens),
        Route("POST", "/_control/document", "control.document", set_document),
    )
    emulator = Emulator(service, Journal(), port, control)
    service.url = emulator.url
    return emulator


class OidcControl(EmulatorControl):
    """The control API as typed methods: who is at the screen, what the tokens say, what the document says."""

    def set_person(
        self, email: str, *, subject: str = "", verified: object = True, ago_s: int = 0, heeds_prompt: bool = True
    ) -> None:
        """Let somebody be at the screen, who signed in at the provider so many seconds ago."""
        person = {"sub": subject or f"subject of {email}", "email": email, "email_verified": verified}
        self.post("/_control/person", {"person": person, "signed_in_ago_s": ago_s, "heeds_prompt": heeds_prompt})

    def order_tokens(self, **order: Any) -> None:  # noqa: ANN401 - the fields of a `TokenOrder`
        """Say how the next id tokens look; nothing orders right ones."""
        self.post("/_control/tokens", order)

    def set_document(self, **fields: Any) -> None:  # noqa: ANN401 - any JSON
        """Say what the document has in the place of its right fields."""
        self.post("/_control/document", fields)


def main() -> None:
    """Serve until a signal comes."""
    run(
        oidc_emulator(
            parser(f"An emulator of an OpenID Connect provider with the client {CLIENT_ID}.").parse_args().port
        )
    )


if __name__ == "__main__":
    main()

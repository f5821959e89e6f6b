"""The Discord emulator: `python -m sandbox.discord.discord --port N`, or `discord_emulator()` inside a test."""

from sandbox.discord.service import DiscordService
from sandbox.emulator.emulator import Emulator, parser, run
from sandbox.emulator.exchange import Answer, Call, Route
from sandbox.emulator.journal import Journal


def discord_emulator(port: int = 0) -> Emulator:
    """An emulator of incoming webhooks, each with the token `token`; a context manager."""
    service = DiscordService()

    def list_messages(_call: Call) -> Answer:
        return Answer(body={"messages": list(service.messages)})

    def advance_clock(call: Call) -> Answer:
        return Answer(body={"now": service.clock.advance(float(call.json().get("advance_s", 0)))})

    control = (
        Route("GET", "/_control/messages", "control.messages", list_messages),
        Route("POST", "/_control/clock", "control.clock", advance_clock),
    )
    return Emulator(service, Journal(), port, control)


def main() -> None:
    """Serve until a signal comes."""
    options = parser("An emulator of Discord's incoming webhooks; their token is `token`.").parse_args()
    run(discord_emulator(options.port))


if __name__ == "__main__":
    main()

"""The Discord emulator: `python -m sandbox.discord.discord --port N`, or `discord_emulator()` inside a test."""

from sandbox.discord.service import DiscordService
from sandbox.emulator.emulator import Emulator, parser, run
from sandbox.emulator.exchange import Answer, Call, Route
from sandbox.emulator.journal import Journal


def discord_emulator(port: int = 0) -> Emulator:
    """An emulator of incoming webhooks, each with the token `token`, and of a bot, `bot-token`; a context manager."""
    service = DiscordService()
    channels = service.channels

    def list_messages(_call: Call) -> Answer:
        return Answer(body={"messages": list(service.messages)})

    def advance_clock(call: Call) -> Answer:
        return Answer(body={"now": service.clock.advance(float(call.json().get("advance_s", 0)))})

    def list_channels(_call: Call) -> Answer:
        return Answer(body={"channels": dict(service.channels.by_channel)})

    def close_channel(call: Call) -> Answer:
        asked = call.json()
        for name, closed in (("deleted", channels.deleted), ("forbidden", channels.forbidden)):
            closed.update(asked.get(name, []))
        channels.without_history.update(asked.get("without_history", []))
        return Answer(body={})

    def write_as_person(call: Call) -> Answer:
        channels.post(str(call.json()["channel"]), str(call.json()["content"]))
        return Answer(body={})

    control = (
        Route("GET", "/_control/channels", "control.channels", list_channels),
        Route("POST", "/_control/close", "control.close", close_channel),
        Route("POST", "/_control/write", "control.write", write_as_person),
        Route("GET", "/_control/messages", "control.messages", list_messages),
        Route("POST", "/_control/clock", "control.clock", advance_clock),
    )
    return Emulator(service, Journal(), port, control)


def main() -> None:
    """Serve until a signal comes."""
    options = parser("An emulator of Discord: webhooks with the token `token`, a bot with `bot-token`.").parse_args()
    run(discord_emulator(options.port))


if __name__ == "__main__":
    main()

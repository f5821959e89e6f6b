"""The Anthropic emulator: `python -m sandbox.anthropic.anthropic --port N`, or `anthropic_emulator()` inside a test."""

from collections.abc import Sequence

from sandbox.anthropic.service import AnthropicService
from sandbox.emulator.emulator import Emulator, parser, run
from sandbox.emulator.exchange import Answer, Call, Route
from sandbox.emulator.journal import Journal


def anthropic_emulator(port: int = 0, keys: Sequence[str] = ()) -> Emulator:
    """An emulator of the Messages API with the scripted model; a context manager.

    `keys` are the API keys that it accepts; with none it accepts every key.
    """
    service = AnthropicService(keys)

    def advance_clock(call: Call) -> Answer:
        return Answer(body={"now": service.clock.advance(float(call.json().get("advance_s", 0)))})

    def set_minimum(call: Call) -> Answer:
        service.cache.minimum = int(call.json()["minimum_prefix_tokens"])
        return Answer(body={"minimum_prefix_tokens": service.cache.minimum})

    def set_conduct(call: Call) -> Answer:
        service.obedient = bool(call.json()["obedient"])
        return Answer(body={"obedient": service.obedient})

    control = (
        Route("POST", "/_control/conduct", "control.conduct", set_conduct),
        Route("POST", "/_control/clock", "control.clock", advance_clock),
        Route("POST", "/_control/cache", "control.cache", set_minimum),
    )
    return Emulator(service, Journal(), port, control)


def main() -> None:
    """Serve until a signal comes."""
    arguments = parser("An emulator of Anthropic's Messages API with a scripted model, which is not a real one.")
    arguments.add_argument("--key", action="append", default=[], help="a key that is good; without any, all are")
    options = arguments.parse_args()
    run(anthropic_emulator(options.port, options.key))


if __name__ == "__main__":
    main()

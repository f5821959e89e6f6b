"""The S3 emulator: `python -m sandbox.s3.s3 --port N`, or `s3_emulator()` inside a test."""

from typing import Any

from sandbox.emulator.client import EmulatorControl
from sandbox.emulator.emulator import Emulator, parser, run
from sandbox.emulator.exchange import Answer, Call, Route
from sandbox.emulator.journal import Journal
from sandbox.s3.service import S3Service, StoredObject


def s3_emulator(port: int = 0) -> Emulator:
    """An emulator of one bucket, `postroom`, and of one key; a context manager."""
    service = S3Service()

    def list_objects(_call: Call) -> Answer:
        held = {key: {"bytes": len(one.data), "at": one.at} for key, one in service.objects.items()}
        return Answer(body={"objects": held})

    def put_object(call: Call) -> Answer:
        asked = call.json()
        at = service.clock.now() - float(asked.get("age_s", 0))
        service.objects[str(asked["key"])] = StoredObject(str(asked["text"]).encode(), at)
        return Answer(body={})

    def set_room(call: Call) -> Answer:
        service.room = call.json()["bytes"]
        return Answer(body={})

    def advance_clock(call: Call) -> Answer:
        return Answer(body={"now": service.clock.advance(float(call.json().get("advance_s", 0)))})

    control = (
        Route("GET", "/_control/objects", "control.objects", list_objects),
        Route("POST", "/_control/objects", "control.put", put_object),
        Route("POST", "/_control/room", "control.room", set_room),
        Route("POST", "/_control/clock", "control.clock", advance_clock),
    )
    return Emulator(service, Journal(), port, control)


class S3Control(EmulatorControl):
    """The emulator's control API as typed methods."""

    def objects(self) -> dict[str, dict[str, Any]]:
        """By key, how many bytes lie there and since when."""
        return dict(self.get("/_control/objects")["objects"])

    def put_object(self, key: str, text: str, *, age_s: float = 0.0) -> None:
        """Put an object as somebody else, so many seconds ago."""
        self.post("/_control/objects", {"key": key, "text": text, "age_s": age_s})

    def set_room(self, most: int | None) -> None:
        """How many bytes the bucket may hold."""
        self.post("/_control/room", {"bytes": most})

    def advance_clock(self, seconds: float) -> float:
        """Let time pass for what is put from now on, and for signatures; returns the emulator's time."""
        return float(self.post("/_control/clock", {"advance_s": seconds})["now"])


def main() -> None:
    """Serve until a signal comes."""
    run(s3_emulator(parser("An emulator of S3: one bucket, one key; signatures are checked.").parse_args().port))


if __name__ == "__main__":
    main()

"""The FCM emulator: `python -m sandbox.fcm.fcm --port N`, or `fcm_emulator()` inside a test."""

from typing import Any

from sandbox.emulator.client import EmulatorControl
from sandbox.emulator.emulator import Emulator, parser, run
from sandbox.emulator.exchange import Answer, Call, Route
from sandbox.emulator.journal import Journal
from sandbox.fcm.service import PROJECT, FcmService, service_account


def fcm_emulator(port: int = 0) -> Emulator:
    """An emulator of one project; a context manager."""
    service = FcmService()

    def list_messages(_call: Call) -> Answer:
        return Answer(body={"messages": list(service.messages), "service_account": service_account()})

    def set_devices(call: Call) -> Answer:
        service.devices.update(call.json()["devices"])
        return Answer(body={})

    def revoke(call: Call) -> Answer:
        service.is_revoked = bool(call.json()["revoked"])
        return Answer(body={})

    def advance_clock(call: Call) -> Answer:
        return Answer(body={"now": service.clock.advance(float(call.json().get("advance_s", 0)))})

    control = (
        Route("GET", "/_control/messages", "control.messages", list_messages),
        Route("POST", "/_control/devices", "control.devices", set_devices),
        Route("POST", "/_control/account", "control.account", revoke),
        Route("POST", "/_control/clock", "control.clock", advance_clock),
    )
    return Emulator(service, Journal(), port, control)


class FcmControl(EmulatorControl):
    """The control API as typed methods: messages, devices, the service account."""

    def messages(self) -> list[dict[str, Any]]:
        """Every message that was taken, the oldest first."""
        return list(self.get("/_control/messages")["messages"])

    def shown(self) -> list[dict[str, Any]]:
        """What devices show: of messages with one tag the last, in the place of the first."""
        by_tag = {(one["token"], one["android"]["notification"]["tag"]): one for one in self.messages()}
        return list(by_tag.values())

    def service_account(self) -> str:
        """The key file of the service account."""
        return str(self.get("/_control/messages")["service_account"])

    def set_device(self, token: str, state: str) -> None:
        """What is wrong with a device: `gone`, `malformed`, `other_sender`; nothing for an empty text."""
        self.post("/_control/devices", {"devices": {token: state}})

    def revoke(self) -> None:
        """Give the service account no more tokens."""
        self.post("/_control/account", {"revoked": True})

    def advance_clock(self, seconds: float) -> float:
        """Let time pass for tokens; returns the emulator's time."""
        return float(self.post("/_control/clock", {"advance_s": seconds})["now"])


def main() -> None:
    """Serve until a signal comes."""
    run(fcm_emulator(parser(f"An emulator of Firebase Cloud Messaging: the project {PROJECT}.").parse_args().port))


if __name__ == "__main__":
    main()

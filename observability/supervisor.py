"""Tells systemd that a process is healthy; systemd restarts a silent process (sd_notify(3), WatchdogSec=)."""

import socket
import threading

from observability.health import Health

PINGS = 3
"""Messages in each period of the watchdog: one or two may come late."""


class WatchdogNotifier(threading.Thread):
    """Sends `WATCHDOG=1` for as long as all checks pass."""

    def __init__(self, address: str, period_s: float, health: Health) -> None:
        """Prepare; `start()` begins. An address with `@` is one in Linux' abstract name space."""
        super().__init__(name="watchdog notifier", daemon=True)
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._period_s = period_s
        self._health = health
        self._stopped = threading.Event()

    def run(self) -> None:
        """Send, wait, send."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
            while not self._stopped.is_set():
                self.notify(channel)
                self._stopped.wait(self._period_s / PINGS)

    def notify(self, channel: socket.socket) -> None:
        """Send one message, if all checks pass; a supervisor that is not there is no harm."""
        if self._health.healthy:
            try:
                channel.sendto(b"WATCHDOG=1", self._address)
            except OSError:
                return

    def stop(self) -> None:
        """Send no more."""
        self._stopped.set()


def notify_supervisor(address: str, period_usec: int, health: Health) -> WatchdogNotifier | None:
    """Begin to send to this address; None when no supervisor asked for it."""
    if not address or not period_usec:
        return None
    notifier = WatchdogNotifier(address, period_usec / 1_000_000, health)
    notifier.start()
    return notifier

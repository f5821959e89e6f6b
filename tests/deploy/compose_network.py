"""The network of a Compose file: a namespace per service on one bridge, in which services find each other by name."""

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from secrets import token_hex

NAMES = Path("/etc/netns")
"""Below it `ip netns exec` finds what it lays over /etc in a namespace."""


class ComposeNetwork:
    """Namespaces that end with the stack. Their network leads nowhere else: nobody outside is asked or disturbed."""

    def __init__(self, services: Sequence[str], stack: ExitStack) -> None:
        """Make them; needs root and iproute2."""
        self._run = token_hex(2)
        bridge = self._make("bridge", stack)
        _ip(bridge, "link", "add", "bridge", "type", "bridge")
        _ip(bridge, "link", "set", "bridge", "up")
        self.addresses = {name: f"10.99.0.{number}" for number, name in enumerate(services, start=2)}
        for number, name in enumerate(services):
            self._join(name, number, bridge, stack)

    def inside(self, service: str) -> list[str]:
        """What a command begins with to run in the namespace of a service."""
        return ["ip", "netns", "exec", self._namespace(service)]

    def kill(self, service: str) -> None:
        """End all that runs in the namespace of a service, at once."""
        for pid in _run("ip", "netns", "pids", self._namespace(service)).split():
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)

    def hosts(self) -> str:
        """/etc/hosts of each service."""
        lines = ["127.0.0.1 localhost", *(f"{address} {name}" for name, address in self.addresses.items())]
        return "\n".join(lines) + "\n"

    def _namespace(self, name: str) -> str:
        return f"postroom-{self._run}-{name}"

    def _make(self, name: str, stack: ExitStack) -> str:
        namespace = self._namespace(name)
        _run("ip", "netns", "add", namespace)
        stack.callback(_run, "ip", "netns", "delete", namespace)
        _ip(namespace, "link", "set", "lo", "up")
        return namespace

    def _join(self, name: str, number: int, bridge: str, stack: ExitStack) -> None:
        namespace, port = self._make(name, stack), f"port{number}"
        _ip(bridge, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        _ip(bridge, "link", "set", port, "master", "bridge", "up")
        _ip(namespace, "address", "add", f"{self.addresses[name]}/24", "dev", "eth0")
        _ip(namespace, "link", "set", "eth0", "up")
        names = NAMES / namespace / "hosts"
        names.parent.mkdir(parents=True)
        stack.callback(names.parent.rmdir)
        names.write_text(self.hosts())
        stack.callback(names.unlink)


def _ip(namespace: str, *words: str) -> None:
    _run("ip", "-netns", namespace, *words)


def _run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout  # noqa: S603  # the words are this module's own

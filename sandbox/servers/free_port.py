"""Finds a TCP port that a server keeps over its restarts."""

import random
import socket

LOOPBACK = "127.0.0.1"
LOWEST, HIGHEST = 20_000, 32_000
"""Below the range from which Linux (32768) and macOS (49152) take the ports of outgoing connections.

Inside that range the system may give the port of a stopped server to a client that reconnects to it. That client would
connect to itself and keep the server from starting again.
"""


def find_free_port() -> int:
    """A port of the loopback on which no process listens now; `RuntimeError` after 200 tries."""
    for port in random.SystemRandom().sample(range(LOWEST, HIGHEST), k=200):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if _can_bind(probe, port):
                return port
    raise RuntimeError(f"no free port between {LOWEST} and {HIGHEST} in 200 tries")


def _can_bind(probe: socket.socket, port: int) -> bool:
    try:
        probe.bind((LOOPBACK, port))
    except OSError:
        return False
    return True

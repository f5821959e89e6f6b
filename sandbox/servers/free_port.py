"""A TCP port that stays ours over a server's restarts."""

import random
import socket

LOOPBACK = "127.0.0.1"
LOWEST, HIGHEST = 20_000, 32_000
"""Below the range from which Linux (32768) and macOS (49152) take the ports of outgoing connections.

Inside that range a client that reconnects to a stopped server may be given the server's own port, connect to itself,
and so keep the server from coming back.
"""


def find_free_port() -> int:
    """Return a port on the loopback on which nobody listens now."""
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

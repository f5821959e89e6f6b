"""`python -m gateway --host ADDRESS --port PORT`: the gateway behind uvicorn, with every connection bounded."""

import argparse
import resource
import sys
from collections.abc import Sequence

import uvicorn

from gateway.app import create
from gateway.http.bounded_protocol import BoundedProtocol
from settings import load_or_end

MOST_FILES = 8192
"""Connections come in bursts of more than are kept; the process must have files left for its database."""

SWITCH_S = 0.0005
"""Seconds for which a thread that calculates keeps the others waiting. Python's 5 ms are waited for after each answer
of the database, by each thread that calculates: beside four clients that send the hardest templates without a pause,
95% of another org's requests have their answer within 0.25 s, where they had it within 0.55 to 0.88 s."""

GRACE_S = 20
"""How long requests may go on after SIGTERM, below every stop period that is shipped."""


def server(host: str, port: int) -> uvicorn.Server:
    """The server of this process."""
    return uvicorn.Server(
        uvicorn.Config(
            create,
            host=host,
            port=port,
            factory=True,
            http=BoundedProtocol,
            ws="none",
            timeout_graceful_shutdown=GRACE_S,
            log_config=None,
        )
    )


def raise_file_limit() -> None:
    """Allow this process more files than the 1,024 that many systems begin with, as far as they let it."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(now, min(most, MOST_FILES)), most))


def main(words: Sequence[str]) -> None:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m gateway", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args(words)
    load_or_end()
    raise_file_limit()
    sys.setswitchinterval(SWITCH_S)
    server(options.host, options.port).run()


if __name__ == "__main__":
    main(sys.argv[1:])

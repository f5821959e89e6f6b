"""A Redis that the relay asks: connected when it is made, so that what is wrong with its URL shows then."""

from contextlib import ExitStack
from typing import Any

from redis import Redis


def connect_to_redis(url: str, answer_within_s: float) -> Any:  # noqa: ANN401 - redis types its commands as sync or async at once
    """A client on which no wait lasts without end; raises what its URL, its options or the server make it raise."""
    made = Redis.from_url(url, socket_timeout=answer_within_s, socket_connect_timeout=answer_within_s)
    with ExitStack() as refused:
        refused.callback(made.close)  # or each try would leave a socket behind
        made.ping()
        refused.pop_all()
    return made

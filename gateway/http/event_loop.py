"""Whether the gateway's event loop still turns: with a loop that is blocked the port is open, and nobody answers."""

import asyncio
import time

from observability.health import Finding

TURN_S = 1.0
LONGEST_TURN_S = 30.0
"""No request may hold the loop for milliseconds; a machine that is short of processors may for seconds."""


class EventLoopWatch:
    """Notes when the loop last came round."""

    def __init__(self) -> None:
        """Begin with now."""
        self._turned_at = time.monotonic()

    async def turn(self) -> None:
        """Come round each second, until it is canceled."""
        while True:
            self._turned_at = time.monotonic()
            await asyncio.sleep(TURN_S)

    def finding(self) -> Finding:
        """Whether it came round lately."""
        age_s = time.monotonic() - self._turned_at
        return Finding(age_s < LONGEST_TURN_S, f"turned {age_s:.0f} s ago")

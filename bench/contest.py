"""One contest: the same work done by ours and by a peer, in turns on the same machine, told as a ratio."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Contest:
    """Rates per second of each round; higher is better."""

    name: str
    ours: tuple[float, ...]
    peer: tuple[float, ...]

    def result(self) -> dict[str, float]:
        """Medians, their ratio, and the least and the greatest ratio of any round."""
        ratios = [ours / peer for ours, peer in zip(self.ours, self.peer, strict=True)]
        ours, peer = statistics.median(self.ours), statistics.median(self.peer)
        spread = {"min": round(min(ratios), 3), "max": round(max(ratios), 3)}
        return {"ours": round(ours, 1), "peer": round(peer, 1), "ratio": round(ours / peer, 3), **spread}


def hold(name: str, ours: Callable[[], float], peer: Callable[[], float], rounds: int) -> Contest:
    """Let both run in turns, so that whatever else the machine does hits both alike."""
    pairs = [(ours(), peer()) for _ in range(rounds)]
    return Contest(name, tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs))

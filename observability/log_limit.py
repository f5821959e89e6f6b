"""When a trouble that lasts is logged: as it begins, and then each minute."""

SAY_AGAIN_S = 60.0
"""How often a trouble that lasts is logged."""


class LogLimit:
    """Decides when one trouble is logged; times are those of a monotonic clock."""

    def __init__(self) -> None:
        """Begin without a trouble."""
        self._said_at: float | None = None

    def note(self, now: float) -> bool:
        """Note that the trouble is there. True when it is to be logged: the first time, and then each minute."""
        if self._said_at is not None and now - self._said_at < SAY_AGAIN_S:
            return False
        self._said_at = now
        return True

    def end(self) -> bool:
        """Note that the trouble is not there. True when its end is to be logged, because the trouble was."""
        said, self._said_at = self._said_at is not None, None
        return said

"""When a trouble that lasts is logged: as it begins, and then each minute."""

SAY_AGAIN_S = 60.0
"""How often a trouble that lasts is logged."""


class LogLimit:
    """Of one trouble; times are those of a monotonic clock."""

    def __init__(self) -> None:
        """There is none."""
        self._said_at: float | None = None

    def is_due(self, now: float) -> bool:
        """Whether to log the trouble, which is there; true for the first time and then each minute."""
        if self._said_at is not None and now - self._said_at < SAY_AGAIN_S:
            return False
        self._said_at = now
        return True

    def is_over(self) -> bool:
        """Whether to log the end of the trouble, which is not there any more: if it was logged itself."""
        said, self._said_at = self._said_at is not None, None
        return said

"""The seven named queues, and what each is for (docs: seeds.md#004-30)."""

from enum import StrEnum


class Queue(StrEnum):
    """A named channel of work; its value is the queue's name in the broker."""

    CRITICAL = "critical"
    """Unblocks a person who waits; keep it small, so that it never starves the others."""
    DEFAULT = "default"
    """Follow-ups of what a user or a mailbox did."""
    NOTIFICATIONS = "notifications"
    """Anything that notifies a person."""
    PLANNING = "planning"
    """Computations that produce proposals."""
    EXPORTS = "exports"
    """Long-running file work, out and in."""
    MAINTENANCE = "maintenance"
    """Scheduled housekeeping."""
    DEADLETTER = "deadletter"
    """Poison jobs, and the task that raises their alert."""

"""The seven named queues with their names in a broker, and the categories of jobs (docs: seeds.md#004-30)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Queue(StrEnum):
    """A named channel of work; its value is the queue's name everywhere but in a shared broker."""

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


OLDEST_DUE_S: Mapping[Queue, int] = {
    Queue.CRITICAL: 30,
    Queue.DEFAULT: 300,
    Queue.NOTIFICATIONS: 120,
    Queue.PLANNING: 900,
    Queue.EXPORTS: 1_800,
    Queue.MAINTENANCE: 3_600,
    Queue.DEADLETTER: 600,
}
"""The objectives: for how many seconds the oldest due job of a queue may wait (docs/howto/watch-the-fleet.md)."""


class JobCategory(StrEnum):
    """What kind of work a job type is: how long its keys are kept and how its jobs are watched follow from it."""

    NOTIFICATION = "notification"
    """Tells a person something; no write of the application fails because of it."""
    AUDIT_ENRICHMENT = "audit_enrichment"
    """Adds to the audit log what its events changed, and writes nothing else."""
    PLANNING = "planning"
    """Computes proposals and conflicts, as artifacts; assigns nobody."""
    IMPORT_EXPORT = "import_export"
    """Takes files in and gives files out, each with its checksum."""
    MAINTENANCE = "maintenance"
    """Keeps the fleet and its mailboxes in order, bounded at each run."""
    MAIL = "mail"
    """The e-mail assistant's own work, of which the source document of the other five has none."""


def category_of(job_type: str, queue: Queue) -> JobCategory:
    """The category of a job type: its queue's, but for audit enrichment, which has no queue of its own."""
    if job_type.partition(".")[0] == "audit":
        return JobCategory.AUDIT_ENRICHMENT
    return _CATEGORY_OF_QUEUE.get(queue, JobCategory.MAIL)


_CATEGORY_OF_QUEUE = {
    Queue.NOTIFICATIONS: JobCategory.NOTIFICATION,
    Queue.PLANNING: JobCategory.PLANNING,
    Queue.EXPORTS: JobCategory.IMPORT_EXPORT,
    Queue.MAINTENANCE: JobCategory.MAINTENANCE,
    Queue.DEADLETTER: JobCategory.MAINTENANCE,
}


CLIENTS_NAMES: Mapping[str, Queue] = {f"q:{queue}": queue for queue in Queue} | {"celery": Queue.DEFAULT}
"""Further queues that clients send jobs to: a source document's, and Celery's own, which a client means that names none
(docs: seeds.md#004-30). Whatever queue a job comes in, its type decides in which it waits."""


@dataclass(frozen=True, slots=True)
class BrokerNames:
    """What a fleet's queues are called in its broker, which other fleets may share.

    No name of one fleet is a name of another with another prefix: no prefix ends with `q:`, and else no name ends with
    another.
    """

    prefix: str = ""
    """`POSTROOM_QUEUE_PREFIX`; stands before each name as it is."""

    @property
    def control_exchange(self) -> str:
        """Where commands to all workers go: by one exchange for all fleets, `control shutdown` would end each."""
        return self.prefix + "celery"

    @property
    def event_exchange(self) -> str:
        """Where task events go: by one exchange for all fleets, each Flower would show the tasks of all."""
        return self.prefix + "celeryev"

    def name(self, queue: str) -> str:
        """The name of a queue in the broker."""
        return self.prefix + queue

    def served(self, names: Collection[str]) -> list[str]:
        """Which of the fleet's queues a consumer of these names serves; its clients' names do not count."""
        return [queue.value for queue in Queue if self.name(queue.value) in names]

    def queue(self, name: object) -> Queue | None:
        """The fleet's queue with this name in the broker, or of its clients'; None for any other name."""
        if not isinstance(name, str) or not name.startswith(self.prefix):
            return None
        return _QUEUES.get(name.removeprefix(self.prefix))


PLAIN = BrokerNames()
"""Of a fleet that has its broker for itself."""

_QUEUES: Mapping[str, Queue] = {**{queue.value: queue for queue in Queue}, **CLIENTS_NAMES}

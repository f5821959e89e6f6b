"""What our broker messages look like: hints name jobs, demand names backlogs. Neither carries anything else."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from domain.jobs.contract import JOB_TYPE_PATTERN, LONGEST_JOB_TYPE
from domain.jobs.job import Hint
from domain.jobs.scheduling.backlog_demand import LARGEST_MESSAGE, BacklogKey, Demand

ORIGIN = "postroom"
"""What a hint's header says of where it comes from."""

BODY = b'[[], {}, {"callbacks": null, "errbacks": null, "chain": null, "chord": null}]'
"""No arguments, in Celery's message protocol 2, as JSON: kombu would write it anew for each message."""

Message = dict[str, Any]
"""A message's headers; there is nothing else in it."""

BUNDLE = 64
"""Jobs per message: opening one costs as much as a short job, and a process must not take too many at once."""

TOGETHER = "job_ids"
"""The header that names all jobs of a message that speaks of several."""

CLAIM_BACKLOG = "postroom.claim_backlog"
"""The task that messages with demand name; no job type is called so."""

DEMAND = "demand"
"""The header that lists backlog keys: priority, org and number of jobs; the queue is the message's own."""

PRIORITIES = range(-100, 101)
"""As in the ledger (domain `priority`): a claim with another fails, with all others that are in its statement."""

MOST_NAMED = 1024
"""Jobs that one message may name: far more than a bundle of this release, as much as one statement claims."""

JOB_TYPE = re.compile(JOB_TYPE_PATTERN)

Named = tuple[UUID | BacklogKey, int]
"""A job that a message names, or a backlog key, and how many jobs."""


@dataclass(frozen=True, slots=True)
class HintMessage:
    """What a message of ours says, once it is read: the task that it names, and its jobs or its demand."""

    task: str
    """A job type, or `CLAIM_BACKLOG`."""
    named: tuple[Named, ...]
    queue: str
    """The queue that the message came from, by the fleet's own name."""


class Unreadable(Exception):
    """A message that is of no shape that the fleet knows."""

    def __init__(self, field: str, reason: str) -> None:
        """Name the field and the reason; neither repeats a value of the message, for that may be a secret."""
        super().__init__(f"{field}: {reason}")
        self.field = printable(field, 200)
        self.reason = printable(reason, 2000)


def printable(text: str, most: int) -> str:
    """A text as it can be logged and stored: a field's name is what a stranger called it."""
    return "".join(one if one.isprintable() else "?" for one in text[:most])


def is_ours(headers: object) -> bool:
    """Whether a message with these headers carries hints or demand."""
    return isinstance(headers, dict) and headers.get("origin") == ORIGIN


def bundles(hints: Sequence[Hint], size: int = BUNDLE) -> Iterator[Sequence[Hint]]:
    """Hints as they travel: those of one queue and type together, in their order, at most so many to a message."""
    alike: dict[tuple[str, str], list[Hint]] = {}
    for hint in hints:
        alike.setdefault((hint.queue, hint.job_type), []).append(hint)
    for together in alike.values():
        yield from batched(together, size)


def batched(hints: Sequence[Hint], size: int) -> Iterator[Sequence[Hint]]:
    """Slices of at most so many."""
    return (hints[start : start + size] for start in range(0, len(hints), size))


def hint_message(bundle: Sequence[Hint]) -> Message:
    """The headers of a message with hints of one type: task id = the first job's id; more ids in a header of ours."""
    headers = _headers(bundle[0].job_type, bundle[0].job_id)
    if len(bundle) > 1:
        headers[TOGETHER] = [str(hint.job_id) for hint in bundle]
    return headers


def demand_message(demand: Demand) -> Message:
    """The headers of a message with demand on one queue's backlogs."""
    listed = [[key.priority, str(key.org_id), count] for key, count in demand.items()]
    return _headers(CLAIM_BACKLOG, uuid4()) | {DEMAND: listed}


def read_message(queue: str, headers: Message) -> HintMessage:
    """What a message of ours in a queue says; raises `Unreadable`."""
    task = headers.get("task")
    if not isinstance(task, str) or len(task) > LONGEST_JOB_TYPE or not JOB_TYPE.fullmatch(task):
        raise Unreadable("task", "is no job type")
    if task == CLAIM_BACKLOG:
        return HintMessage(task, tuple(_read_demand(queue, headers.get(DEMAND)).items()), queue)
    names = headers.get(TOGETHER)
    job_ids = _read_ids([headers.get("id")] if names is None else names)
    return HintMessage(task, tuple((job_id, 1) for job_id in job_ids), queue)


def _read_ids(names: object) -> Sequence[UUID]:
    """Job ids, each once."""
    if not isinstance(names, list) or not 0 < len(names) <= MOST_NAMED:
        raise Unreadable("id", f"is no list of 1 to {MOST_NAMED} job ids")
    try:
        # Not `UUID(name)` alone: of an object that is no text it reads an attribute.
        return tuple(dict.fromkeys(UUID(name) if isinstance(name, str) else UUID("") for name in names))
    except ValueError as error:
        raise Unreadable("id", "is no UUID") from error


def _read_demand(queue: str, listed: object) -> Demand:
    """Jobs per backlog key; a key that is listed twice counts with its sum."""
    if not isinstance(listed, list) or not 0 < len(listed) <= LARGEST_MESSAGE:
        raise Unreadable(DEMAND, f"is no list of 1 to {LARGEST_MESSAGE} backlog keys")
    demand: dict[BacklogKey, int] = {}
    for entry in listed:
        key, count = _read_backlog(queue, entry)
        demand[key] = demand.get(key, 0) + count
    if sum(demand.values()) > LARGEST_MESSAGE:
        raise Unreadable(DEMAND, f"asks for more than {LARGEST_MESSAGE} jobs")
    return demand


def _read_backlog(queue: str, entry: object) -> tuple[BacklogKey, int]:
    match entry:
        case [priority, str(org_id), count] if (
            # A truth value is a whole number to Python, and none to PostgreSQL.
            type(priority) is int and type(count) is int and priority in PRIORITIES and count > 0
        ):
            try:
                return BacklogKey(queue, priority, UUID(org_id)), count
            except ValueError as error:
                raise Unreadable(DEMAND, "names an org by no UUID") from error
        case _:
            raise Unreadable(DEMAND, "holds what is no [priority, org, number of jobs]")


def _headers(task: str, task_id: UUID) -> Message:
    """Celery's message protocol 2."""
    name = str(task_id)
    return {
        "lang": "py",
        "task": task,
        "id": name,
        "root_id": name,
        "parent_id": None,
        "group": None,
        "eta": None,
        "expires": None,
        "retries": 0,
        "timelimit": [None, None],
        "argsrepr": "()",
        "kwargsrepr": "{}",
        "origin": ORIGIN,
        "ignore_result": True,
    }

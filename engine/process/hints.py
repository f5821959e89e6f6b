"""What our broker messages look like: hints name jobs, demand names backlogs. Neither carries anything else."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID, uuid4

from domain.jobs.job import Hint
from domain.scheduling.backlog_demand import LARGEST_MESSAGE, BacklogKey, Demand

ORIGIN = "postroom"
"""What a hint's header says of where it comes from."""

BODY = '[[], {}, {"callbacks": null, "errbacks": null, "chain": null, "chord": null}]'
"""No arguments, in Celery's message protocol 2, as JSON: kombu would write it anew for each message."""

Message = dict[str, Any]
"""A message's headers; there is nothing else in it."""

BUNDLE = 64
"""Light jobs per message: opening one costs as much as a light job, and a process must not take too many at once."""

TOGETHER = "job_ids"
"""The header that names all jobs of a message that speaks of several."""

CLAIM_BACKLOG = "postroom.claim_backlog"
"""The task that messages with demand name; no job type is called so."""

DEMAND = "demand"
"""The header that lists backlog keys: priority, org and number of jobs; the queue is the message's own."""


class Unreadable(Exception):
    """A message that says it is ours and is not."""

    def __init__(self, field: str, reason: str) -> None:
        """Name the field and the reason."""
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


def is_ours(headers: object) -> bool:
    """Whether a message with these headers carries hints or demand."""
    return isinstance(headers, dict) and headers.get("origin") == ORIGIN


def bundles(hints: Sequence[Hint]) -> Iterator[Sequence[Hint]]:
    """Hints as they travel: ordinary ones alone, light ones of one queue and type together, in their order."""
    light: dict[tuple[str, str], list[Hint]] = {}
    for hint in hints:
        if hint.light:
            light.setdefault((hint.queue, hint.job_type), []).append(hint)
        else:
            yield (hint,)
    for together in light.values():
        yield from batched(together, BUNDLE)


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


def read_message(queue: str, headers: Message) -> Sequence[tuple[UUID | BacklogKey, int]]:
    """What a message of a queue names: jobs by id, one each, or backlog keys with numbers; raises `Unreadable`."""
    if headers["task"] == CLAIM_BACKLOG:
        try:
            return [_demand(queue, *listed) for listed in headers[DEMAND]]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise Unreadable(DEMAND, "cannot be read") from error
    try:
        return [(UUID(name), 1) for name in headers.get(TOGETHER) or (headers["id"],)]
    except (AttributeError, TypeError, ValueError) as error:
        raise Unreadable("id", "is no UUID") from error


def _demand(queue: str, priority: object, org_id: object, count: object) -> tuple[BacklogKey, int]:
    if not (
        isinstance(priority, int)
        and isinstance(org_id, str)
        and isinstance(count, int)
        and 0 < count <= LARGEST_MESSAGE
    ):
        raise ValueError(f"no backlog key: {priority}, {org_id}, {count}")
    return BacklogKey(queue, priority, UUID(org_id)), count


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

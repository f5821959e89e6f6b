"""What our broker messages look like: hints name jobs, tickets name backlogs. Neither carries anything else."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID, uuid4

from domain.jobs.job import Hint
from domain.scheduling.backlog_demand import HAND, Ticket, Tickets

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

DRAW = "postroom.draw"
"""The task that messages with tickets name; no job type is called so."""

TICKETS = "tickets"
"""The header that lists tickets: priority, org and number of each; the queue is the message's own."""


class Unreadable(Exception):
    """A message that says it is ours and is not."""

    def __init__(self, field: str, reason: str) -> None:
        """Name the field and the reason."""
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


def is_ours(headers: object) -> bool:
    """Whether a message with these headers carries hints or tickets."""
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


def ticket_message(tickets: Tickets) -> Message:
    """The headers of a message with tickets of one queue."""
    listed = [[ticket.priority, str(ticket.org_id), count] for ticket, count in tickets.items()]
    return _headers(DRAW, uuid4()) | {TICKETS: listed}


def read_message(queue: str, headers: Message) -> Sequence[tuple[UUID | Ticket, int]]:
    """What a message of a queue speaks of: jobs by their ids, one each, or tickets by number; raises `Unreadable`."""
    if headers["task"] == DRAW:
        try:
            return [_tickets(queue, *listed) for listed in headers[TICKETS]]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise Unreadable(TICKETS, "cannot be read") from error
    try:
        return [(UUID(name), 1) for name in headers.get(TOGETHER) or (headers["id"],)]
    except (AttributeError, TypeError, ValueError) as error:
        raise Unreadable("id", "is no UUID") from error


def _tickets(queue: str, priority: object, org_id: object, count: object) -> tuple[Ticket, int]:
    if not (isinstance(priority, int) and isinstance(org_id, str) and isinstance(count, int) and 0 < count <= HAND):
        raise ValueError(f"no ticket: {priority}, {org_id}, {count}")
    return Ticket(queue, priority, UUID(org_id)), count


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

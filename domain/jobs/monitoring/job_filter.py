"""Which jobs are meant: the filter of a list, and of what is done to all that match."""

from collections.abc import Iterable
from typing import Annotated, TypeVar
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict

from domain.jobs.failures import Invalid
from domain.jobs.job import State
from domain.jobs.nesting import MOST_LEVELS
from domain.jobs.queues import Queue

MOST_IDS = 500
"""Single jobs that a filter names."""
MOST_MATCHES = 10
"""Values of the payload that a filter names; each is looked at in every job that is looked at."""
NO_MATCH = "is no path=value, such as account_id=0197… or message.id=7"

One = TypeVar("One")


def in_order(some: Iterable[One]) -> tuple[One, ...]:
    """Each of them once, in one order."""
    return tuple(sorted(set(some)))  # type: ignore[type-var]  # texts, states and ids have an order


Several = Annotated[tuple[One, ...], AfterValidator(in_order)]


def match_of(said: str) -> tuple[list[str], str]:
    """The path into a payload and the value there, of `path=value`; raises `Invalid` for another text."""
    path, equals, value = said.partition("=")
    names = path.split(".")
    if not equals or not all(names):
        raise Invalid("payload", NO_MATCH)
    if len(names) > MOST_LEVELS:
        raise Invalid("payload", f"asks for more than {MOST_LEVELS} levels")
    return names, value


def with_paths(asked: tuple[str, ...]) -> tuple[str, ...]:
    """The same, if each is `path=value`, and each path is named once; raises `Invalid` otherwise."""
    paths = [".".join(path) for path, _ in map(match_of, asked)]
    for path in paths:
        if paths.count(path) > 1:
            raise Invalid("payload", f"{path} is asked for twice")
    return asked


class JobFilter(BaseModel):
    """Which jobs, or dead letters; what is None or empty does not narrow them. Equal filters are written alike."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    org_id: UUID | None = None
    job_types: Several[str] = ()
    states: Several[State] = ()
    queue: Queue | None = None
    error_code: str | None = None
    since: AwareDatetime | None = None
    before: AwareDatetime | None = None
    payload: Annotated[Several[str], AfterValidator(with_paths)] = ()
    """What is in the payload: `path=value`, of a path whose names are parted by dots."""
    job_ids: Several[UUID] = ()
    trace_id: str | None = None
    """In which trace they were enqueued; letters do not say so."""

    @property
    def matches(self) -> list[tuple[list[str], str]]:
        """The paths into the payload, and the text of the value that is there."""
        return [match_of(one) for one in self.payload]

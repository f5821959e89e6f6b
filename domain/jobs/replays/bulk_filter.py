"""Which jobs a bulk action is for: a filter in its canonical form, and what each verb can be done to."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Self
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict

from domain.jobs.contract import readable
from domain.jobs.failures import Invalid
from domain.jobs.job import FINAL, JsonObject, State
from domain.jobs.nesting import MOST_LEVELS
from domain.jobs.queues import Queue

CONFIRMED_ABOVE = 1_000
"""So many jobs may be changed by one that has not said how many they are."""


class BulkVerb(StrEnum):
    """What is done to each job."""

    RETRY = "retry"
    REPLAY = "replay"
    CANCEL = "cancel"
    DISCARD = "discard"
    MEND = "mend"

    @property
    def is_of_letters(self) -> bool:
        """Whether it is about open dead letters; otherwise it is about jobs."""
        return self in {BulkVerb.REPLAY, BulkVerb.DISCARD, BulkVerb.MEND}

    @property
    def states(self) -> frozenset[State]:
        """The states of the jobs that it can be done to."""
        if self is BulkVerb.CANCEL:
            return frozenset(State) - FINAL
        return frozenset({State.DEAD}) if self.is_of_letters else FINAL - {State.SUCCEEDED}


class BulkFilter(BaseModel):
    """Which jobs; what is None or empty does not narrow them. Equal filters are written alike."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    org_id: UUID | None = None
    job_types: tuple[str, ...] = ()
    states: tuple[State, ...] = ()
    queue: Queue | None = None
    error_code: str | None = None
    since: AwareDatetime | None = None
    before: AwareDatetime | None = None
    contains: JsonObject = {}
    """What the payload has among its fields."""

    @classmethod
    def of(  # noqa: PLR0913 - one parameter per filter
        cls,
        verb: BulkVerb,
        *,
        org_id: UUID | None,
        job_types: Iterable[str],
        states: Iterable[State],
        queue: Queue | None,
        error_code: str | None,
        since: datetime | None,
        before: datetime | None,
        account_id: UUID | None,
        payload: Iterable[str],
    ) -> Self:
        """The canonical form of what a person asks for; raises `Invalid` with the field and the reason.

        `payload` are `path=value`: the path's names are parted by dots, and a value is JSON or, if it is none, a text.
        """
        for state in set(states) - verb.states:
            possible = ", ".join(sorted(verb.states))
            raise Invalid("state", f"{verb.value} is not done to {state.value} jobs, only to these: {possible}")
        contains = contained(payload)
        if account_id is not None:
            contains = _with(contains, ["account_id"], str(account_id))
        return cls(
            org_id=org_id,
            job_types=tuple(sorted(set(job_types))),
            states=tuple(sorted(set(states) or verb.states)),
            queue=queue,
            error_code=error_code,
            since=since,
            before=before,
            contains=contains,
        )


def contained(asked: Iterable[str]) -> JsonObject:
    """What a payload has to contain for each `path=value`; raises `Invalid`."""
    found: JsonObject = {}
    for one in asked:
        path, equals, text = one.partition("=")
        names = path.split(".")
        if not equals or not all(names):
            raise Invalid("payload", f"{one} is no path=value, as account.name=acme")
        if len(names) > MOST_LEVELS:
            raise Invalid("payload", f"asks for more than {MOST_LEVELS} levels")
        found = _with(found, names, _value(text))
    try:
        return readable(found)
    except ValueError as error:
        raise Invalid("payload", str(error)) from None


def _value(text: str) -> object:
    """What JSON says; a text that is none, or has a number that PostgreSQL's JSON has not, is itself."""
    try:
        value: object = json.loads(text)
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return text
    return value


def check_patch(verb: BulkVerb, patch: JsonObject | None) -> None:
    """Raise `Invalid` for a mend without a change, and for a change of what is not mended."""
    if verb is BulkVerb.MEND and not patch:
        raise Invalid("patch", "must say what is changed in each payload")
    if verb is not BulkVerb.MEND and patch is not None:
        raise Invalid("patch", f"is for mends: {verb.value} changes no payload")


def needs_number(verb: BulkVerb, matched: int, *, is_all: bool) -> bool:
    """Whether a person has to say how many jobs they mean; `is_all` is whether all that match were counted."""
    return verb is BulkVerb.DISCARD or matched > CONFIRMED_ABOVE or not is_all


def _with(document: Mapping[str, object], names: list[str], value: object) -> JsonObject:
    name, *rest = names
    inner = document.get(name)
    if name in document and (not rest or not isinstance(inner, dict)):
        raise Invalid("payload", f"{name} is asked for twice")
    if not rest:
        return {**document, name: value}
    return {**document, name: _with(inner if isinstance(inner, dict) else {}, rest, value)}

"""The one line by which jobs are filtered: `type:drafts.write state:dead,failed since:2h payload.account_id=0197…`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from domain.instants import written
from domain.jobs.contract import parse_time
from domain.jobs.failures import Invalid
from domain.jobs.job import FINAL, State
from domain.jobs.queues import Queue

LINE = "q"
NAMES: Mapping[str, str] = {
    "type": "job_type", "state": "state", "queue": "queue", "error": "error_code", "org": "org",
    "since": "since", "before": "before",
}  # fmt: skip
"""The words of the line, and the parameters of the list that they are."""
GROUPS: Mapping[str, frozenset[State]] = {
    "unfinished": frozenset(State) - FINAL,
    "ended": FINAL,
    "troubled": FINAL - {State.SUCCEEDED},
}
"""Words for several states."""
AGO = re.compile(r"(\d{1,6})(min|m|h|d)")
UNITS = {"min": timedelta(minutes=1), "m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
PAYLOAD = "payload."
USE = f"is no word of the filter: it has {', '.join(f'{name}:' for name in NAMES)} and payload.path=value"


@dataclass(frozen=True, slots=True)
class JobLook:
    """Which jobs are looked for."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    """As the list of jobs takes them."""
    org: str | None = None

    @property
    def typed(self) -> list[tuple[str, str]]:
        """The same as the fields of a query."""
        found = []
        for name, value in self.parameters.items():
            values = value if isinstance(value, list) else [value]
            found += [(name, written(one) if isinstance(one, datetime) else str(one)) for one in values]
        return found


def read_line(line: str, now: datetime) -> JobLook:
    """What a line asks for; raises `Invalid` with the word that is none."""
    given: dict[str, Any] = {}
    for word in line.split():
        name, colon, value = word.partition(":")
        if word.startswith(PAYLOAD) and "=" in word:
            given.setdefault("payload", []).append(word.removeprefix(PAYLOAD))
        elif not colon or not value or name not in NAMES:
            raise Invalid(LINE, f"{word[:60]} {USE}")
        elif NAMES[name] in given:
            raise Invalid(LINE, f"{name}: is said twice")
        else:
            given[NAMES[name]] = _value(name, value, now)
    return JobLook(given, given.pop("org", None))


def _value(name: str, value: str, now: datetime) -> object:
    match name:
        case "type":
            return value.split(",")
        case "state":
            return sorted(set(_states(value)))
        case "queue":
            return _one_of(Queue, "queue", value)
        case "since" | "before":
            return _time(name, value, now)
        case _:
            return value


def written_line(asked: Mapping[str, str]) -> str:
    """The line of an address that names the list's own parameters, each as often as there are lines of it."""
    said = {name: text.split("\n") for name, text in asked.items()}
    words = [
        f"{word}:{one}"
        for word, name in NAMES.items()
        for one in ([",".join(said[name])] if name in {"job_type", "state"} & said.keys() else said.get(name, ()))
    ]
    return " ".join([*words, *(f"{PAYLOAD}{one}" for one in said.get("payload", ()))])


def _states(value: str) -> list[State]:
    return [
        state
        for one in value.split(",")
        for state in (GROUPS[one] if one in GROUPS else [_one_of(State, "state", one)])
    ]


def _one_of(kind: Any, name: str, value: str) -> Any:  # noqa: ANN401 - a member of the enumeration
    try:
        return kind(value)
    except ValueError:
        known = [one.value for one in kind] + (list(GROUPS) if kind is State else [])
        raise Invalid(LINE, f"{name}:{value[:60]} is none of {', '.join(known)}") from None


def _time(name: str, value: str, now: datetime) -> datetime:
    ago = AGO.fullmatch(value)
    try:
        return now - int(ago[1]) * UNITS[ago[2]] if ago else parse_time(value, name).astimezone(UTC)
    except OverflowError:
        raise Invalid(LINE, f"{name}:{value} is before all times") from None

"""What an operator sees of a broken installation: `doctor`, its JSON, the gateway's `/readyz` and the gateway's log."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

from structlog.testing import capture_logs

from commands.doctor import doctor
from engine.runtime import Runtime, install
from operations.fleet_checks import read_clock
from settings import Settings
from tests.commands.calling import call
from tests.gateway.serving import HttpAnswer, ask, serve
from tests.waiting import eventually

Row = dict[str, Any]
LONGEST_WORD = 24
"""A longer one may be broken in a cell of the table."""


class Seen(NamedTuple):
    """Of one installation."""

    doctor: dict[str, Row]
    """The lines of `doctor --json`, by name."""
    text: str
    """What `doctor` prints."""
    ready: int
    """The status of `/readyz`."""
    readyz: dict[str, Row]
    """Its findings, of the gateway and of the fleet, by name."""
    log: dict[str, Row]
    """The gateway's lines about what is wrong, by the name of the check."""

    def names(self, check: str, cause: str, remedy: str) -> bool:
        """Whether all of them name the cause and the remedy."""
        for row in (self.doctor[check], self.readyz[check], self.log[check]):
            assert cause in row["finding"], row
            assert remedy in row["remedy"], row
        words = f"{check} {self.doctor[check]['finding']} {self.doctor[check]['remedy']}".split()
        assert [word for word in words if len(word) <= LONGEST_WORD and word not in self.text] == []
        return True


@contextmanager
def installed(settings: Settings, clock: Callable[[], datetime] = read_clock) -> Iterator[Runtime]:
    """A process with these settings, on a machine with this clock."""
    made = Runtime(settings, clock=clock)
    install(made)
    try:
        yield made
    finally:
        install(None)
        made.close()


def is_whole(answer: HttpAnswer) -> bool:
    """Whether `/readyz` says all that it ever will: of the fleet, too, unless PostgreSQL is away."""
    return bool(answer.json["fleet"]) or not any(check["ok"] for check in answer.json["checks"].values())


def look(settings: Settings, clock: Callable[[], datetime] = read_clock) -> Seen:
    """Look as an operator does, in all of these ways."""
    with installed(settings, clock):
        rows = json.loads(call(doctor, "--json").stdout)
        text = call(doctor).stdout
    with capture_logs() as logged, serve(settings, machine_clock=clock) as url:
        eventually(lambda: is_whole(ask(f"{url}/readyz")), within=30, describe="the look at the fleet")
        answer = ask(f"{url}/readyz")
    found: dict[str, Row] = {str(one["check"]): dict(one) for one in logged if one["event"] == "found_wrong"}
    readyz = answer.json["checks"] | answer.json["fleet"]
    return Seen({row["name"]: row for row in rows}, text, answer.status, readyz, found)

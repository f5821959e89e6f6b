"""What several pages by hand show: facts with a state, and deeds by a button, as a curl and at a terminal."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote
from uuid import UUID

from domain.jobs.failures import Invalid
from gateway.console.derived import Step, step_to
from gateway.console.forms import fields_of
from gateway.console.pages import Look
from gateway.console.shown import TONES, Shown, in_words
from gateway.console.things import AnyOperation
from gateway.http.resources import resources_of
from operations.jobs.mends import mend_job
from operations.operation import Route

ALSO_NEEDED: Mapping[str, frozenset[str]] = {mend_job.name: frozenset({"patch"})}
"""What a deed is refused without, where another parameter would do as well."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A line of facts: its name, what it says, and the state that it has."""

    name: str
    text: str
    href: str | None = None
    state: str = ""
    more: Shown | None = None

    @property
    def tone(self) -> str:
        """The colour of the state."""
        return TONES.get(self.state, "")


@dataclass(frozen=True, slots=True)
class Deed:
    """What can be done with a thing: by a button, by HTTP, and at a terminal."""

    step: Step
    curl: str | None
    command: str


def deed_of(look: Look, operation: AnyOperation, **given: object) -> Deed:
    """A deed about the thing that is named by these parameters; what else it takes has a word in its place."""
    command = ["celery", "-A", "tasks", operation.area, operation.command, *map(str, given.values())]
    for name, value in _missing(operation, given).items():
        command += [f"--{name.replace('_', '-')}", value if isinstance(value, str) else json.dumps(value)]
    return Deed(step_to(look.frame, operation, given), _curl(look, operation, given), shlex.join(command))


def _curl(look: Look, operation: AnyOperation, given: Mapping[str, object]) -> str | None:
    """The deed by HTTP, at the address that callers have; None where it has no route."""
    route = operation.route
    if not isinstance(route, Route):
        return None
    host = resources_of(look.request).settings.public_url or str(look.request.base_url).rstrip("/")
    path = route.path.format(**{name: quote(str(given[name]), safe="") for name in route.ids})
    asked = shlex.join([*(["-X", route.verb] if route.verb != "GET" else []), f"{host}/v1{path}"])
    body = ["-H", "Content-Type: application/json", "-d", json.dumps(_missing(operation, given))]
    sent = f" {shlex.join(body)}" if operation.body is not None else ""
    return f'curl {asked} -H "Authorization: Bearer $POSTROOM_API_KEY"{sent}'


def _missing(operation: AnyOperation, given: Mapping[str, object]) -> Mapping[str, object]:
    """What a deed is refused without, besides what is given: words in the place of the values."""
    return {
        one.name: {"FIELD": "VALUE"} if one.kind == "document" else one.name.upper()
        for one in fields_of(operation, {})
        if one.name not in given and (one.is_required or one.name in ALSO_NEEDED.get(operation.name, ()))
    }


def id_of(asked: Mapping[str, str], name: str) -> UUID:
    """The id that a page was asked for; raises `Invalid` for another text, and without one."""
    try:
        return UUID(asked.get(name, ""))
    except ValueError:
        raise Invalid(name, f"name the {in_words(name.removesuffix('_id'))} by its id; its list has all") from None

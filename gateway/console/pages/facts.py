"""What several pages by hand show: facts with a state, and deeds by a button, as a curl and at a terminal."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from domain.jobs.failures import Invalid
from gateway.console.derived import Step, step_to
from gateway.console.pages import Look
from gateway.console.shown import TONES, Shown, in_words
from gateway.console.things import AnyOperation
from operations.operation import Route


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
    """A deed about the thing that is named by these parameters."""
    route, curl = operation.route, None
    if isinstance(route, Route):
        verb, body = (
            ("", "") if route.verb == "GET" else (f"-X {route.verb} ", " -H 'Content-Type: application/json' -d '{}'")
        )
        address = route.path.format(**{name: given[name] for name in route.ids})
        host = str(look.request.base_url).rstrip("/")
        curl = f'curl {verb}{host}/v1{address} -H "Authorization: Bearer $POSTROOM_API_KEY"{body}'
    words = " ".join(str(one) for one in given.values())
    return Deed(
        step_to(look.frame, operation, given), curl, f"celery -A tasks {operation.area} {operation.command} {words}"
    )


def id_of(asked: Mapping[str, str], name: str) -> UUID:
    """The id that a page was asked for; raises `Invalid` for another text, and without one."""
    try:
        return UUID(asked.get(name, ""))
    except ValueError:
        raise Invalid(name, f"name the {in_words(name.removesuffix('_id'))} by its id; its list has all") from None

"""What `run_sheet.changed` changed: the closed list of fields that are shown, and a sentence for each change.

Names are those of then, for the event carries them; moments are shown by the clocks of the project.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from domain.jobs.audit.changes import changes_between, names_of, uncovered
from domain.jobs.job import JsonObject
from domain.orgs.privacy.personal_data import without_addresses
from domain.orgs.privacy.redaction import redact_text

MOST_SENTENCES = 200
"""Of one event; the others are counted. Nobody reads more, and the changes are whole."""

Text = Annotated[str, Field(max_length=400), AfterValidator(lambda text: redact_text(without_addresses(text)))]
"""People write addresses and secrets into names, too."""


class Shown(BaseModel):
    """A closed list of fields: what else the document has is left out."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Person(Shown):
    """Who is in a slot."""

    name: Text
    is_pinned: bool = False


class Slot(Shown):
    """A time for which people are wanted."""

    name: Text
    starts_at: AwareDatetime
    ends_at: AwareDatetime
    place_id: UUID | None = None
    place: Text | None = None
    skills: tuple[Text, ...] = ()
    headcount: int = 1
    priority: int = 1
    people: dict[UUID, Person] = {}


class Sheet(Shown):
    """A run sheet with the slots that changed."""

    name: Text
    slots: dict[UUID, Slot]
    slots_left_out: int = 0


class Facts(Shown):
    """What the event says of the change itself. `zone` is the project's."""

    run_sheet_id: UUID
    revision: Annotated[int, Field(ge=1)]
    zone: ZoneInfo = ZoneInfo("UTC")


@dataclass(frozen=True, slots=True)
class Changed:
    """A run sheet before and after a change, as it is shown."""

    facts: Facts
    before: Sheet
    after: Sheet
    changes: Sequence[JsonObject]
    hidden: Sequence[str]
    """Paths of what changed and is not shown."""


def read_change(data: JsonObject) -> Changed:
    """The change of an event; raises `ValidationError` for one that these rules cannot read."""
    facts = Facts.model_validate(data)
    before, after = Sheet.model_validate(data.get("before")), Sheet.model_validate(data.get("after"))
    changes = changes_between(before.model_dump(mode="json"), after.model_dump(mode="json"))
    whole = [str(one["path"]) for one in changes_between(data["before"], data["after"])]
    return Changed(facts, before, after, changes, uncovered(whole, [str(one["path"]) for one in changes]))


def sentences_of(changed: Changed) -> list[str]:
    """What changed, in words: each sentence names what changed, and nothing that did not."""
    found = list(_sentences(changed))
    more = len(found) - MOST_SENTENCES
    return found if more <= 0 else [*found[:MOST_SENTENCES], f"And {more} more changes."]


def _sentences(changed: Changed) -> Iterator[str]:
    was, has = changed.before, changed.after
    if was.name != has.name:
        yield f"The run sheet {_quoted(was.name)} is now called {_quoted(has.name)}."
    for slot_id in _in_order(was.slots, has.slots):
        yield from _slot(was.slots.get(slot_id), has.slots.get(slot_id), changed.facts.zone)
    yield from _unshown(changed)
    if has.slots_left_out:
        yield f"{has.slots_left_out} more slots have changed, for which the event had no room."


def _in_order(was: Mapping[UUID, Slot], has: Mapping[UUID, Slot]) -> list[UUID]:
    """By the time, and then by the id."""
    slots = {**was, **has}
    return sorted(slots, key=lambda slot_id: (slots[slot_id].starts_at, slot_id))


def _slot(was: Slot | None, has: Slot | None, zone: ZoneInfo) -> Iterator[str]:
    match (was, has):
        case (None, Slot()):
            where = f", at {_quoted(has.place)}" if has.place else ""
            yield f"{_quoted(has.name)} was added: {_span(has, zone)} ({zone.key}){where}."
            yield from _people({}, has.people, has.name)
        case (Slot(), None):
            yield f"{_quoted(was.name)} was removed: {_span(was, zone)} ({zone.key})."
            yield from _people(was.people, {}, was.name)
        case (Slot(), Slot()):
            yield from _moved(was, has, zone)
            yield from _people(was.people, has.people, has.name)


def _moved(was: Slot, has: Slot, zone: ZoneInfo) -> Iterator[str]:
    name = _quoted(has.name)
    if was.name != has.name:
        yield f"{_quoted(was.name)} is now called {name}."
    if (was.starts_at, was.ends_at) != (has.starts_at, has.ends_at):
        yield f"{name} was moved to {_span(has, zone)} (before: {_span(was, zone)}) ({zone.key})."
    if (was.place_id, was.place) != (has.place_id, has.place):
        yield f"{name} is now at {_place(has.place)} (before: {_place(was.place)})."
    if was.skills != has.skills:
        yield f"{name} now wants {_skills(has.skills)} (before: {_skills(was.skills)})."
    if was.headcount != has.headcount:
        yield f"{name} now wants {has.headcount} people (before: {was.headcount})."
    if was.priority != has.priority:
        yield f"{name} now has the priority {has.priority} (before: {was.priority})."


def _people(was: Mapping[UUID, Person], has: Mapping[UUID, Person], slot: str) -> Iterator[str]:
    for person_id in sorted({*was, *has}):
        then, now = was.get(person_id), has.get(person_id)
        match (then, now):
            case (None, Person()):
                yield f"{_quoted(now.name)} was put in {_quoted(slot)}{', pinned' if now.is_pinned else ''}."
            case (Person(), None):
                yield f"{_quoted(then.name)} is no longer in {_quoted(slot)}."
            case (Person(), Person()):
                if then.name != now.name:
                    yield f"{_quoted(then.name)}, who is in {_quoted(slot)}, is now called {_quoted(now.name)}."
                if then.is_pinned != now.is_pinned:
                    yield f"{_quoted(now.name)} is {'now' if now.is_pinned else 'no longer'} pinned in {_quoted(slot)}."


def _unshown(changed: Changed) -> Iterator[str]:
    """Where something changed that is not shown: that, and not what."""
    things = dict.fromkeys(_thing(path, changed) for path in changed.hidden)
    for thing in things:
        yield f"Something of {thing} changed that is not shown."


def _thing(path: str, changed: Changed) -> str:
    names = names_of(path)
    if len(names) > 1 and names[0] == "slots":
        slot_id = UUID(names[1])
        slot = changed.after.slots.get(slot_id) or changed.before.slots[slot_id]
        return _quoted(slot.name)
    return "the run sheet"


def _span(slot: Slot, zone: ZoneInfo) -> str:
    starts, ends = slot.starts_at.astimezone(zone), slot.ends_at.astimezone(zone)
    until = f"{ends:%H:%M}" if ends.date() == starts.date() else f"{ends:%Y-%m-%d %H:%M}"
    return f"{starts:%Y-%m-%d %H:%M} to {until}"


def _quoted(name: str) -> str:
    return f"“{name}”"


def _place(name: str | None) -> str:
    return _quoted(name) if name else "no place"


def _skills(skills: Iterable[str]) -> str:
    return ", ".join(sorted(skills)) or "no skill"

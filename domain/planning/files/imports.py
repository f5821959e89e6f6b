"""What an import is asked for: in which form a file is, whose times it has, and under which source they are kept."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from uuid import UUID

from domain.jobs.failures import Invalid
from domain.orgs.spelling.person_names import name_key

BY_NAME = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".ics": "icalendar", ".ical": "icalendar"}
BY_MEDIA_TYPE = {
    "text/csv": "csv",
    "text/tab-separated-values": "csv",
    "text/calendar": "icalendar",
    "application/ics": "icalendar",
}
"""The first is that of RFC 4180, the third that of RFC 5545."""
BY_HAND = "hand"
"""The source of what nobody has imported."""


def format_of(named: str | None, media_type: str, name: str) -> str:
    """The format that was named, else what the file's media type or name says; raises `Invalid`."""
    ending = f".{name.rpartition('.')[2].casefold()}"
    found = named or BY_MEDIA_TYPE.get(media_type.casefold()) or BY_NAME.get(ending)
    if found is None:
        raise Invalid("format", f"cannot be told from {media_type} and {name}: name csv or icalendar")
    return found


def source_of(named: str | None, name: str) -> str:
    """Under which source the rows of a file are kept; raises `Invalid` for that of people's own words."""
    source = (named or name).strip()
    if source.casefold() == BY_HAND:
        raise Invalid("source", f"{BY_HAND} is what people have stated themselves: give another one")
    return source


class People:
    """The people of a project, as a file names them: by their ids, or by names as names are compared."""

    def __init__(self, people: Iterable[tuple[UUID, str]]) -> None:
        """Keep ids and names."""
        by_name: dict[str, list[UUID]] = defaultdict(list)
        for collaborator_id, name in people:
            by_name[name_key(name)].append(collaborator_id)
        self._by_name: Mapping[str, list[UUID]] = by_name
        self._ids = {one for ids in by_name.values() for one in ids}

    def whose(self, text: str) -> str:
        """The id of whom a text names; raises `ValueError` with the reason."""
        try:
            named = UUID(text)
        except ValueError:
            found = self._by_name.get(name_key(text), [])
        else:
            found = [named] if named in self._ids else []
        if not found:
            raise ValueError("is the name or the id of nobody in the project")
        if len(found) > 1:
            raise ValueError(f"is the name of {len(found)} people in the project: give the id")
        return str(found[0])

"""What differs between two documents, as a JSON Patch (RFC 6902) that goes by names and never by places in a list."""

import json
from collections.abc import Iterable, Iterator

from domain.jobs.job import JsonObject


def changes_between(before: JsonObject, after: JsonObject) -> list[JsonObject]:
    """The operations that make `after` of `before`; each replaced or removed value stands beside as `was`.

    Things have their ids as names, so a thing that moves in an order has not changed. A list is one value. RFC 6902
    (section 4) lets whoever applies the patch ignore `was`.
    """
    return list(_between(before, after, ""))


def _between(before: JsonObject, after: JsonObject, path: str) -> Iterator[JsonObject]:
    for name in sorted({*before, *after}):
        here = f"{path}/{_escaped(name)}"
        match (name in before, name in after):
            case (True, False):
                yield {"op": "remove", "path": here, "was": before[name]}
            case (False, True):
                yield {"op": "add", "path": here, "value": after[name]}
            case _:
                yield from _changed(before[name], after[name], here)


def _changed(was: object, has: object, path: str) -> Iterator[JsonObject]:
    if isinstance(was, dict) and isinstance(has, dict):
        yield from _between(was, has, path)
    elif _text(was) != _text(has):
        yield {"op": "replace", "path": path, "value": has, "was": was}


def uncovered(paths: Iterable[str], by: Iterable[str]) -> list[str]:
    """The paths that are none of the other ones, and lead to nothing inside what these lead to."""
    known = frozenset(by)
    return [path for path in paths if known.isdisjoint(_heads(path))]


def _heads(path: str) -> Iterator[str]:
    """The path, and each that it goes through."""
    while path:
        yield path
        path = path.rpartition("/")[0]


def names_of(path: str) -> list[str]:
    """The names that lead to a value, from the outermost on (RFC 6901)."""
    return [name.replace("~1", "/").replace("~0", "~") for name in path.split("/")[1:]]


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _text(value: object) -> str:
    """What tells values of JSON apart: in Python, 1 equals true and 1.0."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)

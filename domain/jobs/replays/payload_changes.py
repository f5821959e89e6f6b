"""What changes in a payload: the differences of two, by path, and a change that is given as a merge patch."""

from collections.abc import Iterator

from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject
from domain.jobs.nesting import MOST_LEVELS, nests_too_deep

ABSENT = object()


def payload_changes(before: JsonObject, after: JsonObject) -> list[JsonObject]:
    """Every place that differs, as `{path, before?, after?}` in the order of paths; a list counts as one place."""
    return [dict(change) for change in _changes("", before, after)]


def _changes(path: str, before: object, after: object) -> Iterator[JsonObject]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            inner = f"{path}.{key}" if path else str(key)
            yield from _changes(inner, before.get(key, ABSENT), after.get(key, ABSENT))
    elif type(before) is not type(after) or before != after:
        sides = {"before": before, "after": after}
        yield {"path": path} | {name: value for name, value in sides.items() if value is not ABSENT}


def merged(document: JsonObject, patch: JsonObject) -> JsonObject:
    """The document with a JSON merge patch (RFC 7396): null takes a field away, a list is replaced as a whole.

    Raises `Invalid` for a patch that nests too deep.
    """
    if nests_too_deep(patch):
        raise Invalid("patch", f"nests deeper than {MOST_LEVELS} levels")
    return _merged(document, patch)


def _merged(document: JsonObject, patch: JsonObject) -> JsonObject:
    after = dict(document)
    for name, value in patch.items():
        before = after.get(name)
        if value is None:
            after.pop(name, None)
        elif isinstance(value, dict):
            after[name] = _merged(before if isinstance(before, dict) else {}, value)
        else:
            after[name] = value
    return after

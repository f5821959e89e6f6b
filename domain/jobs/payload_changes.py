"""The differences between two payloads, by path, for the audit log."""

from collections.abc import Iterator

from domain.jobs.job import JsonObject

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

"""Where a value is inside a document, and how people write that."""

from collections.abc import Iterator

Path = tuple[str | int, ...]
"""Keys and positions from the top of a document down to a value."""


def values_in(document: object, path: Path = ()) -> Iterator[tuple[Path, object]]:
    """Every value of a document with its path, each before those inside it; needs no stack."""
    left = [(path, document)]
    while left:
        path, value = left.pop()
        yield path, value
        if isinstance(value, dict):
            left += [((*path, key), inner) for key, inner in value.items()]
        elif isinstance(value, list | tuple):
            left += [((*path, number), inner) for number, inner in enumerate(value)]


def as_pointer(path: Path) -> str:
    """A path as a JSON pointer (RFC 6901); the whole document is the empty pointer, written `/`."""
    parts = (str(part).replace("~", "~0").replace("/", "~1") for part in path)
    return ("/" + "/".join(parts))[:200]


def as_field(path: Path, whole: str = "document") -> str:
    """A path as people write it: `rules[0].when.subject`; `whole` names the whole document."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return (text.removeprefix(".") or whole)[:200]

"""All that is wrong with a document: each fault with its path, its position where one is known, and the reason."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from domain.documents.paths import Path, as_field, as_pointer
from domain.documents.yaml_source import MOST_VALUES, UnreadableYaml, YamlSource, read_yaml
from domain.jobs.failures import Invalid

MOST_FAULTS = 100
"""Nobody mends more before reading the document anew; the last says how many are left out."""


LONGEST_SHOWN = 100
"""Characters of a value that a fault shows."""


class Fault(NamedTuple):
    """One fault: of a table, `path` is row and column, the header being row 1, and row 0 the whole file."""

    path: Path
    reason: str
    of_key: bool = False
    """Whether the key there is wrong, and not its value."""
    value: str = ""
    """What a table has there, as a person is shown it."""
    line: int | None = None
    column: int | None = None
    """Both from 1; None where the document came as values."""

    @property
    def pointer(self) -> str:
        """JSON pointer (RFC 6901) of the value; `/` is the whole document."""
        return as_pointer(self.path)


@dataclass
class Faults:
    """The faults of a document: those listed, and how many more there are."""

    most: int = MOST_FAULTS
    listed: list[Fault] = field(default_factory=list)
    more: int = 0

    def add(self, path: Path, reason: str, *, of_key: bool = False, value: str = "") -> None:
        """One more fault."""
        self.extend([Fault(path, reason, of_key, shown(value))])

    def extend(self, faults: Iterable[Fault]) -> None:
        """More faults."""
        for fault in faults:
            if len(self.listed) < self.most:
                self.listed.append(fault)
            else:
                self.more += 1

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.listed)


class RefusedDocument(Invalid):
    """A document that is refused, with its faults: the first is the failure's own field and reason.

    `name` is the file's, where the document came in one: faults are then written with name, line and column.
    """

    def __init__(self, faults: Faults, *, source: YamlSource | None = None, name: str = "", whole: str = "") -> None:
        """Give each fault its position; `whole` is what the field of the whole document is called in a file."""
        left_out = faults.more + 1 if faults.more else 0
        last = [Fault((), f"has {left_out} more faults")] if left_out else faults.listed[-1:]
        self.faults = tuple(_placed(one, source) for one in (*faults.listed[:-1], *last))
        self._name, self._whole = name, whole or "document"
        field_of, where, reason = self._words(self.faults[0])
        others = len(self.faults) - 1
        super().__init__(field_of, f"{where}{reason}" + (f" (and {others} more)" if others else ""))

    @property
    def lines(self) -> tuple[str, ...]:
        """A line for each fault, as a person is shown it."""
        words = map(self._words, self.faults)
        return tuple(f"{where}{field_of}: {reason}" for field_of, where, reason in words)

    def _words(self, fault: Fault) -> tuple[str, str, str]:
        """The field, where it is in the file, and the reason."""
        if not self._name:
            return fault.pointer, "", fault.reason
        line, column = (fault.line or 1), (fault.column or 1)
        return as_field(fault.path, self._whole), f"{self._name}:{line}:{column}: ", fault.reason


def shown(value: str) -> str:
    """A value as a fault shows it: cut off, on one line, and what is no printable text in Python's escapes."""
    cut = value if len(value) <= LONGEST_SHOWN else f"{value[:LONGEST_SHOWN]}…"
    seen = cut.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii") for sign in seen)


def under(path: Path, faults: Iterable[Fault]) -> Iterator[Fault]:
    """The faults of a part of a document, as those of the whole."""
    return (fault._replace(path=(*path, *fault.path)) for fault in faults)


def read_source(data: bytes, name: str, *, whole: str = "", most_values: int = MOST_VALUES) -> YamlSource:
    """A YAML file; raises `RefusedDocument`."""
    try:
        return read_yaml(data, most_values=most_values)
    except UnreadableYaml as error:
        fault = Fault(error.path, error.reason, line=error.mark.line, column=error.mark.column)
        raise RefusedDocument(Faults(listed=[fault]), name=name, whole=whole) from None


def _placed(fault: Fault, source: YamlSource | None) -> Fault:
    if source is None:
        return fault
    mark = source.mark(fault.path, key=fault.of_key)
    return fault._replace(line=mark.line, column=mark.column)

"""What is wrong with a rule that somebody wrote: the place inside the document, and the reason."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import ValidationError

from domain.documents.faults import Fault
from domain.documents.paths import Path

Value = TypeVar("Value")

MOST_SHOWN = 20
"""Nobody mends more mistakes than these before reading the file anew."""


class DefectError(Exception):
    """A part of a rule cannot be read; carries every mistake that was found in it."""

    def __init__(self, *defects: Fault) -> None:
        """Keep the mistakes."""
        super().__init__(defects)
        self.defects = defects


@dataclass(slots=True)
class Defects:
    """Collects the mistakes of independent parts, so that a person sees all of them at once."""

    found: list[Fault] = field(default_factory=list)

    def attempt(self, make: Callable[[], Value]) -> Value | None:
        """The part, or None when it has mistakes, which are kept."""
        try:
            return make()
        except DefectError as error:
            self.found.extend(error.defects)
            return None

    def add(self, path: Path, reason: str, *, of_key: bool = False) -> None:
        """Keep one mistake."""
        self.found.append(Fault(path, reason, of_key))

    def check(self) -> None:
        """Raise `DefectError` when there were any."""
        if self.found:
            raise DefectError(*self.found)


def defect(path: Path, reason: str, *, of_key: bool = False) -> DefectError:
    """One mistake as an error."""
    return DefectError(Fault(path, reason, of_key))


def defects_of(error: ValidationError, path: Path, places: dict[str, Path]) -> DefectError:
    """Pydantic's complaints about a value made from the input at `path`; `places` says where each field came from."""
    found = []
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        name, *rest = one["loc"] or ("",)
        inside = tuple(rest) if str(name) in places else ()
        reason = str(one["msg"]).removeprefix("Value error, ")[:300]
        found.append(Fault((*places.get(str(name), path), *inside), reason))
    return DefectError(*found)

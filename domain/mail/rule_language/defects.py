"""What is wrong with a rule that somebody wrote: the place inside the document, and the reason."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from pydantic import ValidationError

from domain.jobs.failures import Invalid
from domain.yaml_source import Path

Value = TypeVar("Value")

MOST_SHOWN = 20
"""Nobody mends more mistakes than these before reading the file anew."""


@dataclass(frozen=True, slots=True)
class Defect:
    """One mistake: where, why, and whether the key there is wrong or its value."""

    path: Path
    reason: str
    about: Literal["key", "value"] = "value"


class DefectError(Exception):
    """A part of a rule cannot be read; carries every mistake that was found in it."""

    def __init__(self, *defects: Defect) -> None:
        """Keep the mistakes."""
        super().__init__(defects)
        self.defects = defects


class RefusedRules(Invalid):
    """Rules that are refused: the first mistake as field and reason, and a line for each in `lines`."""

    def __init__(self, field_name: str, reason: str, lines: Iterable[str]) -> None:
        """Keep the lines; the reason counts those that it leaves out."""
        self.lines = tuple(lines)
        more = len(self.lines) - 1
        super().__init__(field_name, f"{reason} (and {more} more)" if more > 0 else reason)


@dataclass(slots=True)
class Defects:
    """Collects the mistakes of independent parts, so that a person sees all of them at once."""

    found: list[Defect] = field(default_factory=list)

    def attempt(self, make: Callable[[], Value]) -> Value | None:
        """The part, or None when it has mistakes, which are kept."""
        try:
            return make()
        except DefectError as error:
            self.found.extend(error.defects)
            return None

    def add(self, path: Path, reason: str, about: Literal["key", "value"] = "value") -> None:
        """Keep one mistake."""
        self.found.append(Defect(path, reason, about))

    def check(self) -> None:
        """Raise `DefectError` when there were any."""
        if self.found:
            raise DefectError(*self.found)


def defect(path: Path, reason: str, about: Literal["key", "value"] = "value") -> DefectError:
    """One mistake as an error."""
    return DefectError(Defect(path, reason, about))


def defects_of(error: ValidationError, path: Path, places: dict[str, Path]) -> DefectError:
    """Pydantic's complaints about a value made from the input at `path`; `places` says where each field came from."""
    found = []
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        name, *rest = one["loc"] or ("",)
        inside = tuple(rest) if str(name) in places else ()
        reason = str(one["msg"]).removeprefix("Value error, ")[:300]
        found.append(Defect((*places.get(str(name), path), *inside), reason))
    return DefectError(*found)


def as_field(path: Path) -> str:
    """A place as people write it: `rules[0].when.subject`; the whole document is `rules`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return (text.removeprefix(".") or "rules")[:200]

"""Plain values of a rule's document, each read with a reason that says what was expected."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import TypeVar, cast

from pydantic import BaseModel, ValidationError

from domain.documents.faults import Fault
from domain.documents.paths import Path
from domain.mail.rule_language.defects import DefectError, defect, defects_of
from domain.payloads.mail_address import writable_address, writable_domain

Made = TypeVar("Made", bound=BaseModel)

LONGEST_LABEL = 225
"""Gmail refuses longer names."""
_NUMBER = r"(?P<number>[0-9]{1,15}(?:\.[0-9]{1,20})?(?:e[-+]?[0-9]{1,3})?)"
_DURATION = re.compile(_NUMBER + r"\s*(?P<unit>minute|hour|day|week)s?")
_SIZE = re.compile(_NUMBER + r"\s*(?P<unit>bytes?|KB|MB)", re.IGNORECASE)
_HOURS = {"minute": 1 / 60, "hour": 1.0, "day": 24.0, "week": 168.0}
_BYTES = {"byte": 1, "bytes": 1, "kb": 1_000, "mb": 1_000_000}


def mapping(value: object, path: Path, known: Collection[str]) -> Mapping[str, object]:
    """A mapping of known keys; every unknown key is a mistake of its own."""
    if not isinstance(value, Mapping):
        raise defect(path, f"must be a mapping of {_listed(known)}")
    odd = [key for key in value if key not in known]
    if odd:
        reason = f"is not known here; known are {_listed(known)}"
        raise DefectError(*(Fault((*path, str(key)), reason, of_key=True) for key in odd))
    return cast("Mapping[str, object]", value)


def text(value: object, path: Path) -> str:
    """A text that is not empty."""
    if isinstance(value, bool) or value is None or not isinstance(value, (str, int, float)):
        raise defect(path, "must be a text; put quotes around a word such as true")
    if not str(value).strip():
        raise defect(path, "must not be empty")
    return str(value)


def label(value: object, path: Path) -> str:
    """The id or name of a label."""
    found = text(value, path).strip()
    if len(found) > LONGEST_LABEL:
        raise defect(path, f"is longer than {LONGEST_LABEL} characters, which no label is")
    return found


def truth(value: object, path: Path) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise defect(path, "must be true or false")
    return value


def whole(value: object, path: Path) -> int:
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise defect(path, "must be a whole number")
    return value


def addresses(value: object, path: Path) -> list[str]:
    """One address that mail can be sent to, or a list of them."""
    return _each(value, path, writable_address, "address such as ada@example.com")


def domains(value: object, path: Path) -> list[str]:
    """One domain or a list of them."""
    return _each(value, path, writable_domain, "domain such as example.com")


def _each(value: object, path: Path, check: Callable[[str], str], expected: str) -> list[str]:
    several = value if isinstance(value, list) else [value]
    if not several:
        raise defect(path, "must not be an empty list")
    found: list[str] = []
    wrong: list[Fault] = []
    for place, one in enumerate(several):
        here = (*path, place) if isinstance(value, list) else path
        try:
            found.append(text(one, here))
            check(found[-1].replace("*", "\0"))  # A * would be one letter of an address, not any letters.
        except DefectError as error:
            wrong.extend(error.defects)
        except ValueError:
            wrong.append(Fault(here, f"is no {expected}"))
    if wrong:
        raise DefectError(*wrong)
    return found


def hours(value: object, path: Path) -> float:
    """A duration such as `3 hours`, in hours."""
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise defect(path, "must be a duration such as 90 minutes, 3 hours, 2 days or 1 week")
    return float(match["number"]) * _HOURS[match["unit"]]


def bytes_of(value: object, path: Path) -> int:
    """A size such as `5 MB`, or a number of bytes. KB and MB are 1,000 and 1,000,000 bytes, as in Gmail's search."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise defect(path, "must be a size such as 300 KB or 5 MB, or a number of bytes")
    # An endless size has no whole number; the condition refuses this one.
    return round(min(float(match["number"]) * _BYTES[match["unit"].lower()], 1e18))


def made(kind: type[Made], fields: Mapping[str, object], path: Path, places: dict[str, Path] | None = None) -> Made:
    """A checked value of the domain; what its class refuses is told at the place that it came from."""
    try:
        return kind.model_validate(dict(fields))
    except ValidationError as error:
        raise defects_of(error, path, places or {}) from error


def one_of(value: object, path: Path, choices: Collection[str]) -> str:
    """One of some words."""
    if not isinstance(value, str) or value not in choices:
        raise defect(path, f"must be one of {_listed(choices)}")
    return value


def _listed(words: Collection[str]) -> str:
    return ", ".join(words)

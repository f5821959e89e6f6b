"""Plain values of the language of rules. What no worker needs to look at again is checked when somebody writes them."""

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, ValidationInfo, WithJsonSchema

from domain.documents.language import AS_TEXT, OneOrMany
from domain.mail.rule_language.rule_context import RuleContext
from domain.payloads.mail_address import writable_address, writable_domain

LONGEST_LABEL = 225
"""Gmail refuses longer names."""
LONGEST_TEXT = 500
MOST_ADDRESSES = 500
LARGEST_SIZE = 1_000_000_000
"""Bytes, far above any message that Gmail takes."""
_NUMBER = r"([0-9]{1,15}(?:\.[0-9]{1,20})?(?:e[-+]?[0-9]{1,3})?)"
_DURATION = rf"^\s*{_NUMBER}\s*(minute|hour|day|week)s?\s*$"
_SIZE = rf"^\s*{_NUMBER}\s*([bB][yY][tT][eE][sS]?|[kKmM][bB])\s*$"
_HOURS = {"minute": 1 / 60, "hour": 1.0, "day": 24.0, "week": 168.0}
_BYTES = {"byte": 1, "bytes": 1, "kb": 1_000, "mb": 1_000_000}


def context_of(info: ValidationInfo) -> RuleContext | None:
    """What a rule is checked against; None for a rule that was checked when it was saved."""
    return info.context if isinstance(info.context, RuleContext) else None


def _address(text: str, info: ValidationInfo) -> str:
    if context_of(info) is not None:
        try:
            writable_address(text.replace("*", "\0"))  # A * would be one letter of an address, not any letters.
        except ValueError:
            raise ValueError("is no address such as ada@example.com") from None
    return text


def _domain(text: str, info: ValidationInfo) -> str:
    if context_of(info) is not None:
        try:
            writable_domain(text.replace("*", "\0"))
        except ValueError:
            raise ValueError("is no domain such as example.com") from None
    return text


def _label(text: str, info: ValidationInfo) -> str:
    context, name = context_of(info), text.strip()
    return name if context is None or context.labels is None else context.labels.id_of(name)


def _hours(value: object) -> float:
    match = re.fullmatch(_DURATION, value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("must be a duration such as 90 minutes, 3 hours, 2 days or 1 week")
    return float(match[1]) * _HOURS[match[2]]


def _bytes(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = re.fullmatch(_SIZE, value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("must be a size such as 300 KB or 5 MB, or a number of bytes")
    # An endless size has no whole number; the bound refuses this one.
    return round(min(float(match[1]) * _BYTES[match[2].lower()], 1e18))


Text = Annotated[str, Field(max_length=LONGEST_TEXT), AS_TEXT]
Address = Annotated[str, Field(max_length=LONGEST_TEXT), AS_TEXT, AfterValidator(_address)]
Domain = Annotated[str, Field(max_length=LONGEST_TEXT), AS_TEXT, AfterValidator(_domain)]
Addresses = Annotated[list[Address], Field(min_length=1, max_length=MOST_ADDRESSES), OneOrMany()]
Domains = Annotated[list[Domain], Field(min_length=1, max_length=MOST_ADDRESSES), OneOrMany()]
LabelName = Annotated[str, Field(max_length=LONGEST_LABEL), AS_TEXT, AfterValidator(_label)]
"""The id or the name of a label; read, its id."""
Hours = Annotated[
    float,
    Field(gt=0, le=1_000_000, allow_inf_nan=False),
    BeforeValidator(_hours),
    PlainSerializer(lambda hours: f"{hours!r} hours"),
    WithJsonSchema({"type": "string", "pattern": _DURATION}),
]
"""A duration such as `3 hours`."""
Bytes = Annotated[
    int,
    Field(gt=0, le=LARGEST_SIZE),
    BeforeValidator(_bytes),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "exclusiveMinimum": 0, "maximum": LARGEST_SIZE},
                {"type": "string", "pattern": _SIZE},
            ]
        }
    ),
]
"""A size such as `5 MB`, or a number of bytes. KB and MB are 1,000 and 1,000,000 bytes, as in Gmail's search."""

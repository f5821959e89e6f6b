"""Liquid for texts that users write: a closed list of tags and filters, every loop and every result bounded.

A template sees the values of its data and no attribute of Python. The filters of the replace family are left out: used
twice on one text they double it, and the library's own limits do not look inside a filter. `join` is bounded here for
the same reason. Dates are shown in the reader's zone.
"""

import re
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from itertools import chain
from typing import Any
from zoneinfo import ZoneInfo

from liquid import BoundTemplate, Environment, StrictUndefined
from liquid.builtin import content, illegal, output
from liquid.builtin.filters import array, math, misc, string
from liquid.builtin.tags import assign_tag, capture_tag, case_tag, comment_tag, for_tag, if_tag, unless_tag
from liquid.exceptions import FilterArgumentError, LiquidError
from liquid.filter import liquid_filter, with_environment

from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject

LONGEST_SOURCE = 20_000
"""Characters of a template's text; a long mail has some 5,000."""
LONGEST_RESULT = 65_536
"""Bytes of what is made of it, and of the values that it keeps meanwhile."""
MOST_ROUNDS = 1_000
"""Rounds of a loop, and of loops inside a loop together: a text of 20,000 characters has room for some 400 loops, which
take half a second then."""
LONGEST_FORM = 100
FORM_WORDS = "the form of a date knows %a %A %b %B %d %e %H %I %j %m %M %p %S %y %Y %Z %z %%"
_OWN = frozenset({"size", "first", "last"})
"""What Liquid itself knows of a text, a list and a mapping."""

_TAGS = (
    content.Literal, output.Output, illegal.Illegal, if_tag.IfTag, unless_tag.UnlessTag, case_tag.CaseTag,
    for_tag.ForTag, for_tag.BreakTag, for_tag.ContinueTag, assign_tag.AssignTag, capture_tag.CaptureTag,
    comment_tag.CommentTag,
)  # fmt: skip
_FORM = re.compile(r"(?:[^%]|%-?[aAbBdeHIjmMpSyYZz]|%%)*")
"""What may stand in the form of a date. `strftime` knows widths, too, and would fill a text up to them."""


@with_environment
@liquid_filter
def joined(values: object, separator: object = " ", *, environment: "BoundedLiquid") -> str:
    """The values of a list in one text; raises when it would be too long."""
    listed: Iterable[object] = values if isinstance(values, list | tuple | range) else [values]
    between, parts, length = separator if isinstance(separator, str) else str(separator), [], 0
    for value in listed:
        parts.append(value if isinstance(value, str) else str(value))
        length += len(parts[-1]) + len(between)
        if length > LONGEST_RESULT or len(parts) > MOST_ROUNDS:
            raise FilterArgumentError("join makes a text that is too long", token=None)
    made: str = array.join(parts, between, environment=environment)
    return made


@with_environment
@liquid_filter
def dated(value: object, form: object = "%Y-%m-%d %H:%M", *, environment: "BoundedLiquid") -> str:
    """A time of ISO 8601 in the reader's zone, written by a form of `strftime`; a date alone is in no zone."""
    if not isinstance(form, str) or len(form) > LONGEST_FORM or not _FORM.fullmatch(form):
        raise FilterArgumentError(FORM_WORDS, token=None)
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        raise FilterArgumentError("date takes a time as ISO 8601 writes it: 2026-11-24T09:30:00Z", token=None) from None
    local = moment if moment.tzinfo is None else moment.astimezone(environment.zone)
    return local.strftime(form)


_FILTERS = {
    "upcase": string.upcase,
    "downcase": string.downcase,
    "capitalize": string.capitalize,
    "escape": string.escape,
    "strip": string.strip,
    "truncate": string.truncate,
    "newline_to_br": string.newline_to_br,
    "default": misc.default,
    "size": misc.size,
    "first": array.first,
    "last": array.last,
    "plus": math.plus,
    "minus": math.minus,
    "round": math.round_,
    "join": joined,
    "date": dated,
}
FILTERS = frozenset(_FILTERS)


class BoundedLiquid(Environment):
    """An environment with these tags and filters alone."""

    loop_iteration_limit = MOST_ROUNDS
    local_namespace_limit = LONGEST_RESULT
    output_stream_limit = LONGEST_RESULT
    context_depth_limit = 20

    def __init__(self, zone: str, *, escapes: bool) -> None:
        """Texts are shown to a reader in that zone; where it `escapes`, values are made harmless in HTML."""
        self.zone = ZoneInfo(zone)
        super().__init__(undefined=StrictUndefined, strict_filters=True, autoescape=escapes)

    def setup_tags_and_filters(self, *, extra: bool = False) -> None:  # noqa: ARG002 - the library's signature
        """Only what is listed here."""
        for tag in _TAGS:
            self.add_tag(tag)
        for name, function in _FILTERS.items():
            self.add_filter(name, function)


@lru_cache(maxsize=64)
def _environment(zone: str, *, escapes: bool) -> BoundedLiquid:
    return BoundedLiquid(zone, escapes=escapes)


def render(field: str, source: str, data: JsonObject, *, zone: str = "UTC", escapes: bool = False) -> str:
    """What a text says of the data; raises `Invalid` with the field where a value is missing, or it is too much."""
    template = _parsed(field, source, zone, escapes=escapes)
    try:
        return template.render(**{name: value for name, value in data.items() if isinstance(name, str)})
    except (LiquidError, ArithmeticError, ValueError, TypeError) as error:
        raise Invalid(field, _reason(error)) from None


def check(field: str, source: str, sample: JsonObject) -> None:
    """Raise `Invalid` for a text that is no template, or names a value that the sample lacks, on whichever branch."""
    try:
        found = _parsed(field, source, "UTC", escapes=False).analyze()
    except (LiquidError, RecursionError) as error:
        raise Invalid(field, _reason(error)) from None
    unknown = sorted(set(found.filters) - FILTERS)
    if unknown:
        raise Invalid(field, f"the filter {unknown[0]} is not taken; there are {', '.join(sorted(FILTERS))}")
    for variable in chain.from_iterable(found.globals.values()):
        missing = _missing(list(variable.segments), sample)
        if missing:
            raise Invalid(field, f"{missing} is a value that the sample lacks")
    render(field, source, sample)


def _parsed(field: str, source: str, zone: str, *, escapes: bool) -> BoundTemplate:
    if len(source) > LONGEST_SOURCE:
        raise Invalid(field, f"has more than {LONGEST_SOURCE} characters")
    try:
        return _environment(zone, escapes=escapes).from_string(source)
    except (LiquidError, ValueError, RecursionError) as error:
        raise Invalid(field, _reason(error)) from None


def _missing(segments: list[Any], value: object) -> str | None:
    """The first part of a path that leads nowhere; a part that is computed is left to the rendering."""
    for number, segment in enumerate(segments):
        if isinstance(segment, list) or (segment in _OWN and isinstance(value, dict | list | str)):
            return None
        has_it = segment in value if isinstance(value, dict) else _has_index(value, segment)
        if not has_it:
            return ".".join(map(str, segments[: number + 1]))
        value = value[segment]  # type: ignore[index] # it has the segment
    return None


def _has_index(value: object, segment: object) -> bool:
    return isinstance(value, list) and isinstance(segment, int) and segment < len(value)


def _reason(error: Exception) -> str:
    """The error in one line: the library's own words name tags, filters and paths, never a value."""
    if not isinstance(error, LiquidError):
        return f"cannot be made: {type(error).__name__}"
    words, token = str(error.args[0] if error.args else type(error).__name__), error.token
    line = token.source.count("\n", 0, token.start_index) + 1 if token is not None else None
    return words.splitlines()[0][:200] + (f" (line {line})" if line else "")

"""Liquid for texts that users write: a closed list of tags and filters, cut in one pass, and the work of it counted.

A template sees the values of its data and no attribute of Python. The filters of the replace family are left out: used
twice on one text they double it. There are no ranges, for a test whether one contains a value may count through all of
it. Dates are shown in the reader's zone.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from itertools import chain
from typing import Any, TextIO
from zoneinfo import ZoneInfo

from liquid import BoundTemplate, Environment, RenderContext, StrictUndefined, Token
from liquid.ast import Node
from liquid.builtin import content, illegal, output
from liquid.builtin.expressions.primitive import RangeLiteral
from liquid.builtin.filters import array, math, misc, string
from liquid.builtin.tags import assign_tag, capture_tag, case_tag, for_tag, if_tag, unless_tag
from liquid.exceptions import FilterArgumentError, LiquidError, ResourceLimitError
from liquid.expression import Expression
from liquid.filter import liquid_filter, with_context, with_environment
from liquid.output import LimitedStringIO
from liquid.undefined import UNDEFINED

from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject
from domain.notifications.liquid_parts import parts

LONGEST_SOURCE = 20_000
"""Characters of a template's text; a long mail has some 5,000."""
LONGEST_RESULT = 65_536
"""Bytes of what is made of it, and of the values that it keeps meanwhile."""
MOST_WORK = 1_000_000
"""Of a rendering: characters of the values that are read, filtered and written, and steps."""
WORK_OF_STEP = 20
"""For each value that is read, filter, text that is written, value that is kept, and round: some 1 µs of CPU."""
WORK_OF_TEST = 15
"""For each value and each comparison in the tests of a tag."""
WORK_OF_NAME = 3
"""For each name in the path of a value."""
KEPT_TEMPLATES = 64
"""The texts that were read last. The tree of the longest takes some MB."""
LONGEST_FORM = 100
FORM_WORDS = "the form of a date knows %a %A %b %B %d %e %H %I %j %m %M %p %S %y %Y %Z %z %%"
_OWN = frozenset({"size", "first", "last"})
"""What Liquid itself knows of a text, a list and a mapping."""
_FORM = re.compile(r"(?:[^%]|%-?[aAbBdeHIjmMpSyYZz]|%%)*")
"""What may stand in the form of a date. `strftime` knows widths, too, and would fill a text up to them."""


class _Rendering(RenderContext):
    """One rendering for a reader in a zone: whatever takes time is counted here."""

    def __init__(self, template: BoundTemplate, data: JsonObject, zone: str) -> None:
        super().__init__(template, globals=data)
        self.zone = ZoneInfo(zone)
        self._work = 0
        self._sizes: dict[int, int] = {}

    def spend(self, work: int) -> None:
        """Count work; raises `ResourceLimitError`."""
        self._work += work
        if self._work > MOST_WORK:
            raise ResourceLimitError("takes too much work", token=None)

    def get(self, path: list[object], *, token: Token | None, default: object = UNDEFINED) -> object:
        """A value of the data: what is done with it takes as long as it is large."""
        value = super().get(path, token=token, default=default)
        self.spend(WORK_OF_STEP + WORK_OF_NAME * len(path) + self._size(value))
        return value

    def filter(self, name: str, token: Token | None) -> Callable[..., object]:
        """A filter that counts what it takes and what it makes."""
        apply = super().filter(name, token)

        def counted(value: object, *arguments: object, **named: object) -> object:
            made = apply(value, *arguments, **named)
            self.spend(2 * WORK_OF_STEP + self._size(value) + self._size(made))
            return made

        return counted

    def assign(self, key: str, val: object) -> None:
        """Keep a value; the library adds up the sizes of all that are kept."""
        self.spend(2 * WORK_OF_STEP + WORK_OF_TEST * len(self.locals))
        super().assign(key, val)

    def raise_for_loop_limit(self, length: int = 1) -> None:
        """Count the rounds of a loop that begins."""
        self.spend(WORK_OF_STEP * (length + 5))

    def get_buffer(self, buf: TextIO | None = None) -> LimitedStringIO:
        """What a part is written into: within the longest result, and counted."""
        return _Written(self, buf.size if isinstance(buf, LimitedStringIO) else 0)

    def _size(self, value: object) -> int:
        """Characters of a text; of a list or a mapping those of all in it, added up once."""
        if isinstance(value, str):
            return len(value)
        if isinstance(value, tuple):
            return sum(map(self._size, value))
        if not isinstance(value, list | dict):
            return 1
        known = self._sizes.get(id(value))
        if known is None:
            inside = value if isinstance(value, list) else chain.from_iterable(value.items())
            known = self._sizes[id(value)] = 1 + sum(map(self._size, inside))
        return known


class _Written(LimitedStringIO):
    """A text that is being made."""

    def __init__(self, rendering: _Rendering, outside: int) -> None:
        super().__init__(LONGEST_RESULT - outside)
        self._rendering = rendering

    def write(self, text: str, /) -> int:
        """Add to the text."""
        self._rendering.spend(WORK_OF_STEP + len(text))
        return super().write(text)


class _Counted(Node):
    """A tag that tests. Its tests are work whenever it is rendered: one of texts alone reads no value."""

    _steps = 0
    """Of all its tests; counted when it is first rendered."""

    def render_to_output(self, context: RenderContext, buffer: TextIO) -> int:
        """Count the tests, and render what they choose."""
        if isinstance(context, _Rendering):
            self._steps = self._steps or 1 + sum(_steps(part) for part in (self, *self.children(context)))
            context.spend(WORK_OF_TEST * self._steps)
        return super().render_to_output(context, buffer)  # type: ignore[safe-super] # the library's node


class _If(_Counted, if_tag.IfNode):
    pass


class _Unless(_Counted, unless_tag.UnlessNode):
    pass


class _Case(_Counted, case_tag.CaseNode):
    pass


class _IfTag(if_tag.IfTag):
    node_class = _If


class _UnlessTag(unless_tag.UnlessTag):
    node_class = _Unless


class _CaseTag(case_tag.CaseTag):
    node_class = _Case


_TAGS = (
    content.Literal, output.Output, illegal.Illegal, _IfTag, _UnlessTag, _CaseTag,
    for_tag.ForTag, for_tag.BreakTag, for_tag.ContinueTag, assign_tag.AssignTag, capture_tag.CaptureTag,
)  # fmt: skip


@with_context
@with_environment
@liquid_filter
def joined(values: object, separator: object = " ", *, context: _Rendering, environment: Environment) -> str:
    """The values of a list in one text; raises when it would be too much work."""
    listed: Iterable[object] = values if isinstance(values, list | tuple) else [values]
    between, texts = separator if isinstance(separator, str) else str(separator), []
    for value in listed:
        texts.append(value if isinstance(value, str) else str(value))
        context.spend(len(texts[-1]) + len(between))
    made: str = array.join(texts, between, environment=environment)
    return made


@with_context
@liquid_filter
def dated(value: object, form: object = "%Y-%m-%d %H:%M", *, context: _Rendering) -> str:
    """A time of ISO 8601 in the reader's zone, written by a form of `strftime`; a date alone is in no zone."""
    if not isinstance(form, str) or len(form) > LONGEST_FORM or not _FORM.fullmatch(form):
        raise FilterArgumentError(FORM_WORDS, token=None)
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        raise FilterArgumentError("date takes a time as ISO 8601 writes it: 2026-11-24T09:30:00Z", token=None) from None
    local = moment if moment.tzinfo is None else moment.astimezone(context.zone)
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

    local_namespace_limit = LONGEST_RESULT
    context_depth_limit = 20

    def __init__(self, *, escapes: bool) -> None:
        """Where it `escapes`, values are made harmless in HTML."""
        super().__init__(undefined=StrictUndefined, strict_filters=True, autoescape=escapes)

    def setup_tags_and_filters(self, *, extra: bool = False) -> None:  # noqa: ARG002 - the library's signature
        """Only what is listed here."""
        for tag in _TAGS:
            self.add_tag(tag)
        for name, function in _FILTERS.items():
            self.add_filter(name, function)

    def tokenizer(self) -> Callable[[str], Iterator[Token]]:
        """What cuts a text into its parts."""
        return parts


_ENVIRONMENTS = {escapes: BoundedLiquid(escapes=escapes) for escapes in (False, True)}


def render(field: str, source: str, data: JsonObject, *, zone: str = "UTC", escapes: bool = False) -> str:
    """What a text says of the data; raises `Invalid` with the field where a value is missing, or it is too much."""
    template = _parsed(field, source, escapes=escapes)
    try:
        rendering = _Rendering(template, data, zone)
        written = rendering.get_buffer()
        template.render_with_context(rendering, written)
    except (LiquidError, ArithmeticError, ValueError, TypeError, RecursionError) as error:
        raise Invalid(field, _reason(error)) from None
    return written.getvalue()


def check(field: str, source: str, sample: JsonObject) -> None:
    """Raise `Invalid` for a text that is no template, or names a value that the sample lacks, on whichever branch."""
    try:
        found = _parsed(field, source, escapes=False).analyze()
    except (LiquidError, RecursionError) as error:
        raise Invalid(field, _reason(error)) from None
    unknown = sorted(set(found.filters) - FILTERS)
    if unknown:
        raise Invalid(field, f"the filter {unknown[0]} is not taken; there are {', '.join(sorted(FILTERS))}")
    for variable in chain.from_iterable(found.globals.values()):
        missing = _missing(list(variable.segments), sample)
        if missing:
            raise Invalid(field, f"{missing} is a value that the sample lacks")


def _parsed(field: str, source: str, *, escapes: bool) -> BoundTemplate:
    if len(source) > LONGEST_SOURCE:
        raise Invalid(field, f"has more than {LONGEST_SOURCE} characters")
    try:
        template, has_range = _read(source, escapes=escapes)
    except (LiquidError, ValueError, RecursionError) as error:
        raise Invalid(field, _reason(error)) from None
    if has_range:
        raise Invalid(field, "has a range such as (1..3), which is not taken: loop over a list of the data")
    return template


@lru_cache(maxsize=KEPT_TEMPLATES)
def _read(source: str, *, escapes: bool) -> tuple[BoundTemplate, bool]:
    """A template, and whether it names a range."""
    template = _ENVIRONMENTS[escapes].from_string(source)
    context = RenderContext(template)
    return template, any(_has_range(node, context) for node in template.nodes)


def _has_range(node: Node, context: RenderContext) -> bool:
    """Whether a part of a template, or one inside it, names a range."""
    inside = node.children(context, include_partials=False)
    return any(map(_is_of_range, node.expressions())) or any(_has_range(child, context) for child in inside)


def _steps(part: Node | Expression) -> int:
    """How many expressions are in a tag or in an expression."""
    inside = part.expressions() if isinstance(part, Node) else part.children()
    return sum(1 + _steps(expression) for expression in inside)


def _is_of_range(expression: Expression) -> bool:
    return isinstance(expression, RangeLiteral) or any(map(_is_of_range, expression.children()))


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

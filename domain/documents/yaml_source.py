"""YAML that strangers may have written, read into plain values with the line and column of each.

No tags, no merge keys, no duplicate keys, one document; size, depth, number of values and aliases are bounded before
anything is built. Plain words mean what YAML 1.2's core schema says: `true`, `false`, `null` and numbers; all else,
`yes` and `2026-11-24` too, is text.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from domain.documents.paths import Path

LONGEST_SOURCE = 256 * 1024
"""Bytes. A thousand rules of four lines have a hundred kilobytes."""
DEEPEST_VALUE = 24
"""Twice what the deepest rule needs: 8 conditions, each a list in a mapping, in a list of rules."""
MOST_VALUES = 20_000
MOST_ALIASES = 100

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_DECIMAL = re.compile(r"[-+]?[0-9]{1,15}\.[0-9]{0,15}")
_WORDS = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}


@dataclass(frozen=True, slots=True)
class TextPosition:
    """A place in a text; both numbers begin with 1."""

    line: int
    column: int


class UnreadableYaml(Exception):
    """A text that is no YAML, or more than is taken."""

    def __init__(self, mark: TextPosition, reason: str, path: Path = ()) -> None:
        """Keep where and why."""
        super().__init__(reason)
        self.mark, self.reason, self.path = mark, reason, path


@dataclass(slots=True)
class YamlSource:
    """What a text says, and where its keys and values stand."""

    value: Any = None
    keys: dict[Path, TextPosition] = field(default_factory=dict)
    values: dict[Path, TextPosition] = field(default_factory=dict)

    def mark(self, path: Path, *, key: bool = False) -> TextPosition:
        """Where a key or a value stands; for what is missing, where the mapping stands that lacks it."""
        found = self.keys.get(path) if key else None
        while found is None and path:
            found = self.values.get(path)
            path = path[:-1]
        return found or self.values.get((), TextPosition(1, 1))


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not been read."""

    value: Any
    path: Path
    anchor: str | None
    size: int
    key: str | None = None


def read_yaml(data: bytes, *, most_values: int = MOST_VALUES) -> YamlSource:
    """Read a text of so many values, those of aliases counted anew; raises `UnreadableYaml`."""
    if len(data) > LONGEST_SOURCE:
        raise UnreadableYaml(TextPosition(1, 1), f"is longer than {LONGEST_SOURCE} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableYaml(TextPosition(data[: error.start].count(b"\n") + 1, 1), "is not UTF-8") from None
    reader = _Reader(most_values)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            reader.take(event)
    except yaml.MarkedYAMLError as error:
        raise UnreadableYaml(_mark(error.problem_mark), f"is no YAML: {error.problem}"[:300]) from None
    except yaml.YAMLError as error:
        place = getattr(error, "position", 0)
        line = text.count("\n", 0, place if isinstance(place, int) else 0) + 1
        raise UnreadableYaml(TextPosition(line, 1), "is no YAML: a character that YAML forbids") from None
    return reader.source


class _Reader:
    """Builds values from the parser's events, without recursion."""

    def __init__(self, most_values: int) -> None:
        self.source = YamlSource()
        self._most_values = most_values
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._values = self._aliases = self._documents = 0

    def take(self, event: yaml.Event) -> None:
        """One event of the parser."""
        match event:
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise UnreadableYaml(_mark(event.start_mark), "begins a second document: one file holds one")
            case yaml.ScalarEvent():
                self._refuse_tag(event)
                self._scalar(event)
            case yaml.AliasEvent():
                self._alias(event)
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                self._refuse_tag(event)
                self._begin(event)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                ended = self._open.pop()
                if ended.anchor is not None:
                    self._anchors[ended.anchor] = (ended.value, self._values - ended.size)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        if self._awaits_key():
            self._key(event)
            return
        value = _plain(event.value) if event.implicit[0] else event.value
        self._put(value, _mark(event.start_mark), event.anchor)

    def _key(self, event: yaml.ScalarEvent) -> None:
        parent, key, mark = self._open[-1], event.value, _mark(event.start_mark)
        if key == "<<" and event.implicit[0]:
            raise UnreadableYaml(mark, "merge keys are not taken", parent.path)
        if key in parent.value:
            raise UnreadableYaml(mark, f"the key {key[:40]!r} is there twice", parent.path)
        parent.key = key
        self.source.keys[*parent.path, key] = mark

    def _alias(self, event: yaml.AliasEvent) -> None:
        mark = _mark(event.start_mark)
        self._aliases += 1
        if self._aliases > MOST_ALIASES:
            raise UnreadableYaml(mark, f"more than {MOST_ALIASES} aliases")
        if self._awaits_key():
            raise UnreadableYaml(mark, "an alias is no key", self._open[-1].path)
        anchor = str(event.anchor)
        if anchor not in self._anchors:
            raise UnreadableYaml(mark, f"the alias {anchor[:40]!r} names nothing that ends before it")
        value, size = self._anchors[anchor]
        self._values += size
        self._put(value, mark, None)

    def _begin(self, event: yaml.CollectionStartEvent) -> None:
        mark = _mark(event.start_mark)
        if self._awaits_key():
            raise UnreadableYaml(mark, "a key must be a word", self._open[-1].path)
        if len(self._open) >= DEEPEST_VALUE:
            raise UnreadableYaml(mark, f"is nested deeper than {DEEPEST_VALUE} levels")
        value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        before = self._values
        path = self._put(value, mark, None)
        self._open.append(_Open(value, path, event.anchor, before))

    def _put(self, value: object, mark: TextPosition, anchor: str | None) -> Path:
        """Hang a value into the list or mapping that is open."""
        self._values += 1
        if self._values > self._most_values:
            raise UnreadableYaml(mark, f"has more than {self._most_values} values")
        path: Path = ()
        if not self._open:
            self.source.value = value
        else:
            parent = self._open[-1]
            if parent.key is not None:
                path, parent.value[parent.key], parent.key = (*parent.path, parent.key), value, None
            else:
                path = (*parent.path, len(parent.value))
                parent.value.append(value)
        self.source.values[path] = mark
        if anchor is not None:
            self._anchors[anchor] = (value, 1)
        return path

    def _awaits_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].value, dict) and self._open[-1].key is None

    @staticmethod
    def _refuse_tag(event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        if event.tag is not None:
            raise UnreadableYaml(_mark(event.start_mark), f"the tag {event.tag[:60]!r}: tags are not taken")


def _plain(text: str) -> object:
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text


def _mark(mark: Any) -> TextPosition:  # noqa: ANN401 -- the parser's own, of one of its two implementations
    return TextPosition(1, 1) if mark is None else TextPosition(mark.line + 1, mark.column + 1)

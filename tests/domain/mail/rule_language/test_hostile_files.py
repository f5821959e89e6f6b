"""A file that was made to hurt is refused with its limit, before anything is built from it."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.documents.faults import RefusedDocument
from domain.documents.yaml_source import (
    DEEPEST_VALUE,
    LONGEST_SOURCE,
    MOST_ALIASES,
    MOST_VALUES,
    UnreadableYaml,
    read_yaml,
)
from domain.mail.rule_language.rule_file import read_rule_file

LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{after}: &{after} [{', '.join([f'*{before}'] * 9)}]\n" for before, after in zip("abcdefg", "bcdefgh", strict=True)
)
HOSTILE = {
    "ten megabytes": (b"- x\n" * 2_621_440, f"is longer than {LONGEST_SOURCE} bytes"),
    "a tag that makes objects": (b"name: !!python/object/apply:os.system [ls]", "tags are not taken"),
    "a tag of its own": (b"name: !secret x", "tags are not taken"),
    "a billion laughs": (LAUGHS.encode(), f"has more than {MOST_VALUES} values"),
    "many aliases": (b"a: &a x\nb: [" + b"*a, " * (MOST_ALIASES + 1) + b"]", f"more than {MOST_ALIASES} aliases"),
    "an alias to itself": (b"a: &a [*a]", "names nothing that ends before it"),
    "an alias to nothing": (b"a: *b", "names nothing that ends before it"),
    "deep brackets": (b"[" * 100_000, f"is nested deeper than {DEEPEST_VALUE} levels"),
    "deep braces": (b"{a: " * 30_000, f"is nested deeper than {DEEPEST_VALUE} levels"),
    "many values": (b"[" + b"x," * (MOST_VALUES + 1) + b"]", f"has more than {MOST_VALUES} values"),
    "the same key twice": (b"name: a\nname: b", "the key 'name' is there twice"),
    "the same key quoted": (b"name: a\n'name': b", "the key 'name' is there twice"),
    "a merge key": (b"a: &a {x: 1}\nb:\n  <<: *a", "merge keys are not taken"),
    "a list as key": (b"? [a, b]\n: c", "a key must be a word"),
    "two documents": (b"a: 1\n---\nb: 2", "begins a second document"),
    "no YAML": (b"a: [1, 2", "is no YAML"),
    "a tab": (b"a:\n\t- b", "is no YAML"),
    "another charset": ("näme: x".encode("utf-16"), "is no"),
    "bytes of no charset": (b"a: \xff\xfe", "is not UTF-8"),
    "a bell": (b"a: \x07", "is no YAML"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_refused_with_its_limit(kind: str) -> None:
    data, reason = HOSTILE[kind]
    with pytest.raises(RefusedDocument) as refusal:
        read_rule_file(data, "r.yaml")
    assert reason in refusal.value.lines[0]
    assert refusal.value.lines[0].startswith("r.yaml:")


@settings(max_examples=100)
@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_no_text_breaks_the_reader(data: bytes) -> None:
    with suppress(RefusedDocument):
        assert read_rule_file(data, "r.yaml")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"), ("no", "no"), ("on", "on"), ("2026-11-24", "2026-11-24"), ("12:30", "12:30"), ("0o7", "0o7"),
        ("010", "010"), ("1_000", "1_000"), (".inf", ".inf"), ("'5'", "5"), ("5", 5), ("-5", -5), ("1.5", 1.5),
        ("true", True), ("~", None), ("", None), ("&a x", "x"),
    ],
)  # fmt: skip
def test_plain_words_mean_what_they_look_like(text: str, value: object) -> None:
    assert read_yaml(f"a: {text}".encode()).value == {"a": value}


def test_an_alias_stands_for_what_it_names() -> None:
    source = read_yaml(b"a: &x [1, 2]\nb: *x\n")
    assert source.value == {"a": [1, 2], "b": [1, 2]}
    assert (source.mark(("b", 1)).line, source.mark(("b", 1)).column) == (2, 4)


def test_a_laughing_file_is_refused_while_it_is_read() -> None:
    with pytest.raises(UnreadableYaml) as refusal:
        read_yaml(LAUGHS.encode())
    assert refusal.value.mark.line <= 6

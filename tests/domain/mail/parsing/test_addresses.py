import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.mail.parsing.addresses import parse_addresses

ATOM = st.from_regex(r"[a-z0-9]{1,10}", fullmatch=True)
ADDRESS = st.builds("{}@{}.example".format, ATOM, ATOM)


@given(st.lists(st.tuples(st.from_regex(r"[A-Za-z ,.()@<>]{0,12}", fullmatch=True), ADDRESS), min_size=1, max_size=8))
def test_quoted_names_never_change_who_is_meant(people: list[tuple[str, str]]) -> None:
    header = ", ".join(f'"{name}" <{address}>' for name, address in people)
    found, more = parse_addresses(header)
    assert [one.address for one in found] == [address for _, address in people]
    assert not more


@given(st.text(max_size=300))
def test_any_text_gives_only_addresses(text: str) -> None:
    found, _ = parse_addresses(text)
    assert all(one.address.count("@") >= 1 and not set(one.address) & set("\x00\r\n<>") for one in found)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("ada@example.org (Ada)", [("Ada", "ada@example.org")]),
        ('"boss@example.com" <evil@example.net>', [("boss@example.com", "evil@example.net")]),
        ("undisclosed-recipients:;", []),
        ("Team: a@example.org, b@example.org; c@example.org", [("", f"{one}@example.org") for one in "abc"]),
        ("<@relay.example:user@example.org>", [("", "user@example.org")]),
        ("a@example.org@example.com", []),
        ("=?utf-8?q?J=C3=B6rg_=3Cx=40y=3E?= <j@example.org>", [("Jörg <x@y>", "j@example.org")]),
        ('"unclosed <a@example.org>', [("", "a@example.org")]),
        ("Anonymous", []),
    ],
)
def test_known_shapes(header: str, expected: list[tuple[str, str]]) -> None:
    if header == "a@example.org@example.com":
        assert "example.com" not in [one.domain for one in parse_addresses(header)[0]]
        return
    assert [(one.name, one.address) for one in parse_addresses(header)[0]] == expected


def test_more_than_allowed_is_said() -> None:
    found, more = parse_addresses("a@example.org, b@example.org, c@example.org", most=2)
    assert len(found) == 2
    assert more

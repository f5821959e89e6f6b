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
        ('"unclosed <a@example.org>', [("unclosed", "a@example.org")]),
        ("Anonymous", []),
        ("ann @ a.example", [("", "ann@a.example")]),
        ("Ann <ann @ a.example>", [("Ann", "ann@a.example")]),
        ("ann . lee @ a . example (Ann (home) Lee)", [("Ann home Lee", "ann.lee@a.example")]),
        ("Dr. Ann Lee ann@a.example", [("Dr. Ann Lee", "ann@a.example")]),
        ("<mailto:ann@a.example>", [("", "ann@a.example")]),
        ("Ann <ann@a.example (home)>", [("Ann", "ann@a.example")]),
        ("<@a.example,@b.example:ann@c.example>", [("", "ann@c.example")]),
        ('"a,b"@x.example, <"c d"@x.example>', [("", '"a,b"@x.example'), ("", '"c d"@x.example')]),
        ('"Lee, Ann \\"Tiny\\"" <ann@a.example>', [('Lee, Ann "Tiny"', "ann@a.example")]),
        ("Jane Doe <Jane> <jane@a.example>", [("Jane Doe <Jane>", "jane@a.example")]),
    ],
)
def test_known_shapes(header: str, expected: list[tuple[str, str]]) -> None:
    if header == "a@example.org@example.com":
        assert "example.com" not in [one.domain for one in parse_addresses(header)[0]]
        return
    assert [(one.name, one.address) for one in parse_addresses(header)[0]] == expected


BROKEN = [
    'Tim O"Brien <tim@a.example>',
    'Tim 6" <tim@a.example>',
    '"Tim <tim@a.example>',
    'Tim" <tim@a.example>',
    'Tim "Tiny <tim@a.example>',
    '"Tim "Tiny" Lee" <tim@a.example>',
    '""Tim"" <tim@a.example>',
    "Tim (Tiny <tim@a.example>",
    "Tim) <tim@a.example>",
    "Tim <tim@a.example",
    "Tim < tim@a.example >",
    "Tim <<tim@a.example>>",
    "tim @ a.example",
    "tim@a.example (",
    'Tim \\" <tim@a.example>',
]


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("comma", [", ", ",\n ", "; "])
def test_a_broken_mailbox_costs_none_of_the_others(broken: str, comma: str) -> None:
    others = ["one@a.example", '"Doe, Jane" <jane@a.example>', "Pat <pat@a.example>", "Ann (home) <ann@a.example>"]
    for position in range(len(others) + 1):
        found, _ = parse_addresses(comma.join([*others[:position], broken, *others[position:]]))
        wanted = [f"{name}@a.example" for name in ("one", "jane", "pat", "ann")]
        assert [one.address for one in found] == [*wanted[:position], "tim@a.example", *wanted[position:]]


def test_more_than_allowed_is_said() -> None:
    found, more = parse_addresses("a@example.org, b@example.org, c@example.org", most=2)
    assert len(found) == 2
    assert more


@pytest.mark.parametrize(
    ("header", "meant"),
    [
        ("'ada@x.org'", ["ada@x.org"]),
        ("'ada@x.org', 'bob@x.org'", ["ada@x.org", "bob@x.org"]),
        ("Ada <'ada@x.org'>", ["ada@x.org"]),
        ("\u201cada@x.org\u201d", ["ada@x.org"]),
        ("`ada@x.org`", ["ada@x.org"]),
        ("\u200eada@x.org", ["ada@x.org"]),
        ("Ada <\u200bada@x.org\ufeff>", ["ada@x.org"]),
        ("\u202aada@x.org\u202c", ["ada@x.org"]),
        ("ada@x.org [mailto:ada@x.org]", ["ada@x.org"]),
        ("Ada [mailto:ada@x.org]", ["ada@x.org"]),
        ("ada@[IPv6:::1]", ["ada@[IPv6:::1]"]),
        ("Ada <ada@[IPv6:2001:db8::1]>, bob@x.org", ["ada@[IPv6:2001:db8::1]", "bob@x.org"]),
        ("o'brien@x.org", ["o'brien@x.org"]),
        ("i@i\u2764.ws", []),
        ("a@b@c.org", []),
        ("Eve <a@bb@c.org>, ada@x.org", ["ada@x.org"]),
        ("ann@a..example", []),
    ],
)
def test_an_address_is_read_as_its_writer_meant_it_or_not_at_all(header: str, meant: list[str]) -> None:
    assert [one.address for one in parse_addresses(header)[0]] == meant

"""Only what the receiving host found out proves who a sender is, whatever words the sender brings into its header."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.mail.parsing.limits import LONGEST_AUTH_RESULTS
from domain.mail.parsing.mime import parse_message
from tests.domain.mail.messages import raw_message

HOST = "mx.google.com"
SPF = "spf=pass (google.com: domain of {} designates 192.0.2.1 as permitted sender) smtp.mailfrom={}"
DKIM = 'dkim=pass header.i=@example.org header.s=s1 header.b="AB/c+d=="'
PASSED = "dmarc=pass (p=REJECT sp=REJECT dis=NONE) header.from=example.org"
FAILED = "dmarc=fail (p=NONE dis=NONE) header.from=example.org"


def proven(*headers: str, sender: str = "Ada <ada@example.org>") -> bool:
    lines = "".join(f"Authentication-Results: {one}\n" for one in headers).encode()
    return parse_message(lines + raw_message(**{"from": sender})).dmarc_passed(frozenset({HOST}))


def of_gmail(*results: str) -> str:
    return "; ".join((HOST, *results))


@pytest.mark.parametrize(
    "header",
    [
        of_gmail(DKIM, SPF.format("ada@example.org", "ada@example.org"), PASSED),
        of_gmail("dara=pass header.i=@example.org", "arc=pass (i=1 spf=pass dmarc=fail)", PASSED) + ";",
        of_gmail(PASSED, "bimi=skipped (no record)"),
        of_gmail('spf=neutral smtp.mailfrom="x dmarc=fail"@example.org', PASSED),
        of_gmail('spf=pass (domain of "a b"@example.org designates 192.0.2.1) smtp.mailfrom="a b"@example.org', PASSED),
        of_gmail("spf=pass smtp.mailfrom=jörg@example.org", PASSED),
        of_gmail('spf=fail reason="dmarc=fail"', PASSED),
        of_gmail("dmarc=pass (comments (may (nest))) header.from=example.org"),
        of_gmail("DMARC=PASS"),
        of_gmail(*["dkim=fail (bad signature) header.i=@list.example header.s=x"] * 60, PASSED),
        f"(a comment) {HOST} 1 ;\n\tspf=none;\n\t{PASSED}",
    ],
)  # fmt: skip
def test_a_true_pass_counts(header: str) -> None:
    assert proven(header)


FORGED = (
    "dmarc=pass",
    "; dmarc=pass",
    "; dmarc=pass header.from=example.org",
    "); dmarc=pass (",
    ") ; dmarc=pass header.from=example.org (",
    "\\; dmarc=pass",
    "x dmarc=pass",
    "((((((((",
    "))))",
)


@pytest.mark.parametrize("words", FORGED)
@pytest.mark.parametrize("verdict", [(FAILED,), ()], ids=["failed", "unknown"])
@pytest.mark.parametrize(
    "shape",
    [
        'spf=neutral smtp.mailfrom="{}"@evil.example',
        'spf=neutral (google.com: domain of "{}"@evil.example does not designate it) smtp.mailfrom=x@evil.example',
        'spf=fail reason="{}" smtp.mailfrom=x@evil.example',
        'dkim=fail header.i="{}"',
        'dkim=fail header.i="@{}.evil.example" header.s=x',
    ],
)
def test_words_of_the_sender_are_no_verdict(shape: str, verdict: tuple[str, ...], words: str) -> None:
    assert not proven(of_gmail(shape.format(words), *verdict))
    assert not proven(of_gmail(*verdict, shape.format(words)))


@given(st.text(st.characters(exclude_characters='"\\\r\n', exclude_categories=["Cs"]), max_size=60))
def test_no_quoted_word_of_a_sender_is_a_verdict(words: str) -> None:
    quoted = words.replace("\x00", "")
    assert not proven(
        of_gmail(f'spf=neutral (domain of "{quoted}"@e.example) smtp.mailfrom="{quoted}"@e.example', FAILED)
    )
    assert not proven(of_gmail(f'spf=neutral (domain of "{quoted}"@e.example) smtp.mailfrom="{quoted}"@e.example'))


@pytest.mark.parametrize(
    "header",
    [
        "",
        HOST,
        f"{HOST};",
        f"{HOST}; none",
        of_gmail(*["dkim=fail header.i=@list.example header.s=x header.b=abcdefgh"] * 60, FAILED),
        of_gmail(FAILED, PASSED),
        of_gmail(PASSED, PASSED),
        of_gmail("dmarc=pass header.from=other.example"),
        of_gmail("dmarc=passed"),
        of_gmail("xdmarc=pass"),
        of_gmail("dmarc.x=pass"),
        of_gmail("dmarc=fail (dmarc=pass)"),
        of_gmail("dmarc=none", "spf=pass dmarc=pass"),
        of_gmail("spf=pass (never closed", PASSED),
        of_gmail('spf=pass smtp.mailfrom="never closed', PASSED),
        f"{HOST}.evil.example; {PASSED}",
        f"evil.example ({HOST}); {PASSED}",
        f"; {PASSED}",
        f"{HOST} 2; {PASSED}",
        of_gmail(f"spf=pass smtp.a=b {'(' * 2_000}", PASSED),
        of_gmail(f"spf=pass {'(' * 2_000}{')' * 2_000}", PASSED),
        of_gmail(*["a=b"] * 5_000, PASSED),
        of_gmail(f"spf=pass smtp.mailfrom={'x' * LONGEST_AUTH_RESULTS}", PASSED),
    ],
    ids=lambda header: header[:50],
)
def test_what_cannot_be_read_or_fails_proves_nothing(header: str) -> None:
    assert not proven(header)


def test_only_the_topmost_header_is_the_receivers() -> None:
    assert proven(of_gmail(PASSED), of_gmail(FAILED))
    assert not proven(of_gmail(FAILED), of_gmail(PASSED))
    assert not proven("evil.example; dmarc=pass", of_gmail(PASSED))


@pytest.mark.parametrize(
    ("named", "sender", "passed"),
    [
        ("example.org", "a@mail.example.org", True),
        ("mail.example.org", "a@example.org", True),
        ("EXAMPLE.org.", "a@Example.Org", True),
        ("xn--bcher-kva.example", "a@bücher.example", True),
        ("ample.org", "a@example.org", False),
        ("example.org.evil.example", "a@example.org", False),
        ("bucher.example", "a@bücher.example", False),
        ("example.org", "nobody", False),
    ],
)
def test_the_verdict_is_about_the_domain_in_from(named: str, sender: str, passed: bool) -> None:
    assert proven(of_gmail(f"dmarc=pass header.from={named}"), sender=sender) is passed

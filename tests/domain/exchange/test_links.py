"""A link is good for one artifact of one org until one time, and for nothing else."""

import hashlib
import hmac
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.exchange.links import LONGEST, ArtifactLink, disposition, read_until, until_of
from domain.jobs.failures import Invalid

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
LINK = ArtifactLink(UUID(int=1), UUID(int=2), NOW + timedelta(hours=1), 3)


def sign(message: bytes) -> bytes:
    return hmac.digest(b"key", message, hashlib.sha256)[:16]


def is_signed(message: bytes, signature: bytes) -> bool:
    return hmac.compare_digest(sign(message), signature)


def signature_of(link: ArtifactLink) -> str:
    return parse_qs(urlsplit(link.address("https://mail.example.org", sign)).query)["sig"][0]


def test_the_address_names_what_is_signed() -> None:
    parts = urlsplit(LINK.address("https://mail.example.org", sign))
    assert (parts.netloc, parts.path) == ("mail.example.org", f"/a/{LINK.artifact_id}")
    assert read_until(parse_qs(parts.query)["until"][0]) == LINK.until
    assert LINK.is_signed_by(signature_of(LINK), is_signed)


@pytest.mark.parametrize(
    "other",
    [
        replace(LINK, artifact_id=UUID(int=9)),
        replace(LINK, org_id=UUID(int=9)),
        replace(LINK, until=LINK.until + timedelta(seconds=1)),
        replace(LINK, number=4),
    ],
)
def test_a_signature_is_good_for_nothing_else(other: ArtifactLink) -> None:
    assert not other.is_signed_by(signature_of(LINK), is_signed)


@given(st.text(max_size=100))
def test_no_text_is_a_signature_by_chance(text: str) -> None:
    assert not LINK.is_signed_by(text, is_signed)


def test_half_a_signature_is_none() -> None:
    whole = signature_of(LINK)
    assert not any(LINK.is_signed_by(whole[:cut], is_signed) for cut in range(len(whole)))


@pytest.mark.parametrize(
    "text",
    ["", "0", "-1", "1.5", "1e9", "²", "٣", "9" * 30, "100000000000", " 1", "01", "1\n", f"{'0' * 20}{'9' * 5000}"],
)
def test_no_other_text_is_a_time(text: str) -> None:
    assert read_until(text) is None


def test_a_link_ends_with_its_artifact_at_the_latest() -> None:
    assert until_of(timedelta(hours=1), NOW, NOW + timedelta(days=1)) == NOW + timedelta(hours=1)
    assert until_of(timedelta(days=2), NOW, NOW + timedelta(days=1)) == NOW + timedelta(days=1)
    for lasts in (timedelta(0), LONGEST + timedelta(seconds=1)):
        with pytest.raises(Invalid):
            until_of(lasts, NOW, NOW + timedelta(days=1))


@given(st.text(min_size=1, max_size=200))
def test_a_name_stays_inside_its_header(name: str) -> None:
    if any("\ud800" <= one <= "\udfff" for one in name):
        return
    header = disposition(name)
    assert header.startswith('attachment; filename="')
    assert header.isascii()
    assert header.isprintable()
    assert header.count('"') == 2

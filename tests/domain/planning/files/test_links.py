"""A link is good for one artifact of one org until one time, and for nothing else."""

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.planning.files.links import LONGEST, ArtifactLink, disposition, read_until, until_of

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
LINK = ArtifactLink(UUID(int=1), UUID(int=2), NOW + timedelta(hours=1), 3)


def test_the_address_names_what_is_signed() -> None:
    parts = urlsplit(LINK.address("https://mail.example.org", lambda _: b"\x01" * 16))
    assert (parts.netloc, parts.path) == ("mail.example.org", f"/a/{LINK.artifact_id}")
    assert read_until(parse_qs(parts.query)["until"][0]) == LINK.until


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

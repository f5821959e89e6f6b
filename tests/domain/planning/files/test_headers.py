"""`Range` and `Content-Digest`: what is wanted, and what is refused."""

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.planning.calendars.ranges import ByteRange, wanted_range
from domain.planning.files.digests import check_digest, read_content_digest, written

EMPTY = hashlib.sha256(b"").hexdigest()


@pytest.mark.parametrize(
    ("header", "part"),
    [
        (None, None),
        ("bytes=0-3", ByteRange(0, 4)),
        ("bytes=4-", ByteRange(4, 10)),
        ("bytes=-3", ByteRange(7, 10)),
        ("bytes=-30", ByteRange(0, 10)),
        ("bytes=9-99", ByteRange(9, 10)),
        ("bytes=0-1,4-5", None),
        ("bytes=3-1", None),
        ("bytes=-", None),
        ("bytes=a-b", None),
        ("lines=0-3", None),
        ("bytes=" + "9" * 19 + "-", None),
    ],
)
def test_a_single_range_is_followed_and_others_are_passed_over(header: str | None, part: ByteRange | None) -> None:
    assert wanted_range(header, 10) == part


@pytest.mark.parametrize("header", ["bytes=10-", "bytes=10-20", "bytes=-0"])
def test_bytes_that_are_not_there_are_refused(header: str) -> None:
    with pytest.raises(ValueError, match="no such bytes"):
        wanted_range(header, 10)


@given(st.text(max_size=40), st.integers(1, 1000))
def test_whatever_is_asked_for_lies_inside_the_file(header: str, size: int) -> None:
    try:
        part = wanted_range(f"bytes={header}", size)
    except ValueError:
        return
    assert part is None or 0 <= part.start < part.end <= size


def test_the_digest_of_the_body_is_read_among_others() -> None:
    assert read_content_digest(None) is None
    assert read_content_digest(written(EMPTY)) == EMPTY
    assert read_content_digest(f"sha-512=:AAAA:, {written(EMPTY)}") == EMPTY


@pytest.mark.parametrize(
    "header",
    ["", "sha-256", "sha-512=:AAAA:", "sha-256=AAAA", "sha-256=:AAAA:", "sha-256=:????:", "sha-256=:" + "A" * 43 + ":"],
)
def test_a_digest_that_nobody_would_check_is_refused(header: str) -> None:
    with pytest.raises(Invalid):
        read_content_digest(header)


def test_another_body_is_refused_with_the_digest_that_it_has() -> None:
    check_digest(None, EMPTY)
    check_digest(EMPTY, EMPTY)
    with pytest.raises(Invalid, match=base64.b64encode(bytes.fromhex(EMPTY)).decode().replace("+", r"\+")):
        check_digest("0" * 64, EMPTY)

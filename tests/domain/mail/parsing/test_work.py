"""The work for a message is bounded by its size, whatever its sender wrote: counted in steps, not in seconds."""

import encodings
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.mail_bombs import BOMBS, charset_per_word
from domain.mail.parsing.limits import MOST_SCANS
from domain.mail.parsing.mail_encoding import guess_text
from domain.mail.parsing.mime import parse_message
from domain.mail.parsing.parsed_message import Defect
from domain.mail.parsing.quoted_text import visible_text
from domain.mail.triage.automation import detect_automation
from tests.domain.mail.parsing.work import Steps, count_steps

SMALL = 1_500
FOREIGN = "Здравствуйте, подходит ли вам вторник?"
LINES_PER_BYTE, LINES_AT_LEAST = 25, 3_000
HANDED_PER_BYTE, HANDED_AT_LEAST = 60, 20_000
BYTES_PER_DETECTION, LINES_PER_DETECTION = 12, 4_000
FIRST_DETECTIONS = 30_000
"""Lines by which the detector fills its tables in a process: the first text of nine charsets took 27,386 at most."""


@pytest.fixture(autouse=True, scope="module")
def _codecs_are_loaded() -> None:
    """Python reads the tables of a charset when a text is first decoded by it; that is no message's work."""
    guess_text(FOREIGN.encode("koi8-r"))


def read_whole(raw: bytes) -> None:
    """All that is done with the bytes of a message before it is stored, and what triage reads of it."""
    message = parse_message(raw)
    detect_automation(message)
    visible_text(message.text)


def assert_bounded(raw: bytes) -> Steps:
    steps = count_steps(lambda: read_whole(raw))
    assert steps.lines <= LINES_AT_LEAST + LINES_PER_BYTE * len(raw)
    assert steps.handed <= HANDED_AT_LEAST + HANDED_PER_BYTE * len(raw)
    assert steps.detections <= 1 + len(raw) // BYTES_PER_DETECTION
    assert steps.detecting <= FIRST_DETECTIONS + LINES_PER_DETECTION * steps.detections
    return steps


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS.keys())
def test_twice_the_message_is_at_most_twice_the_work(bomb: Callable[[int], bytes]) -> None:
    once, twice = assert_bounded(bomb(SMALL)), assert_bounded(bomb(2 * SMALL))
    assert twice.lines <= 2.1 * once.lines + LINES_AT_LEAST
    assert twice.handed <= 2.1 * once.handed + HANDED_AT_LEAST


@settings(deadline=None, max_examples=20)
@given(st.lists(st.sampled_from(list(BOMBS.values())), min_size=1, max_size=4), st.integers(10, 1_000))
def test_bombs_in_each_other_are_bounded_too(bombs: list[Callable[[int], bytes]], size: int) -> None:
    assert_bounded(b"\n--b\n".join(bomb(size) for bomb in bombs))


@pytest.mark.parametrize("times", [1, 1_000])
def test_the_charset_of_a_text_is_detected_once(times: int) -> None:
    text = (FOREIGN * times).encode("koi8-r")
    guess_text(text)
    steps = count_steps(lambda: guess_text(text))
    assert steps.detections == 1
    assert steps.lines <= LINES_AT_LEAST
    assert steps.detecting <= LINES_PER_DETECTION


def test_a_quadratic_step_is_seen() -> None:
    """The measure itself: a function that looks at the rest once per byte hands over too much."""

    def look(rest: bytes) -> int:
        return len(rest)

    raw = b"x" * SMALL
    steps = count_steps(lambda: [look(raw[place:]) for place in range(SMALL)])
    assert steps.handed > HANDED_AT_LEAST + HANDED_PER_BYTE * SMALL


def test_bytes_are_searched_for_boundaries_a_bounded_number_of_times() -> None:
    """Eighteen multiparts in each other, all of them around the same body."""
    levels = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(18))
    message = parse_message(b"From: a@example.org\n" + levels + b"\n" + b"x" * 2_000_000)
    assert Defect.TOO_DEEP in message.defects
    assert MOST_SCANS < 18, "the levels of the message"


def test_charsets_that_a_sender_made_up_are_not_remembered() -> None:
    parse_message(charset_per_word(1_000))
    before = dict(encodings._cache)  # noqa: SLF001 # nothing public tells
    parse_message(charset_per_word(50_000))
    assert encodings._cache == before  # noqa: SLF001 # the same

"""Whatever becomes of a message on its way, it is read and can be answered: nothing raises, and the work is bounded.

A run tries 1,200 mutants, half of them of seeds that were never tried before; `--mutants 10000` tries more.
"""

import sys
from collections.abc import Iterator
from random import SystemRandom

import pytest

from domain.mail.parsing.mail_encoding import guess_text
from domain.mail.parsing.mime import parse_message
from tests.domain.mail.corpus.mutants import mail_mutants, seeds
from tests.domain.mail.parsing.test_mime import assert_storable
from tests.domain.mail.parsing.test_work import assert_bounded
from tests.domain.mail.replies.test_answerable import answered

PARTS = 10


@pytest.fixture(autouse=True, scope="module")
def _codecs_are_loaded() -> None:
    """Python reads the tables of a charset when a text is first decoded by it; that is no message's work."""
    guess_text("Здравствуйте, подходит ли вам вторник?".encode("koi8-r"))


def check(mutants: Iterator[bytes]) -> int:
    count = 0
    for raw in mutants:
        message = parse_message(raw)
        assert_storable(message)
        assert_bounded(raw)
        answered(message)
        count += 1
    return count


@pytest.mark.parametrize("part", range(PARTS))
def test_mutants_are_read_within_bounds(request: pytest.FixtureRequest, part: int) -> None:
    count = request.config.getoption("mutants") // PARTS
    seed = part if part % 2 else SystemRandom().randrange(2**32)
    sys.stdout.write(f"seed {seed}\n")
    assert check(mail_mutants(seed, count)) == count


def test_the_same_seed_makes_the_same_mutants() -> None:
    assert list(mail_mutants(7, 20)) == list(mail_mutants(7, 20))
    assert list(mail_mutants(7, 20)) != list(mail_mutants(8, 20))


def test_most_mutants_are_no_longer_what_they_were() -> None:
    assert len(seeds()) >= 318
    assert sum(raw in seeds() for raw in mail_mutants(9, 200)) < 20

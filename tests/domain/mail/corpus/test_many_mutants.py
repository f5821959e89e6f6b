"""Ten thousand mutants of mail: some with seeds that were never tried before."""

import sys
from random import SystemRandom

import pytest

from tests.domain.mail.corpus.mutants import mail_mutants
from tests.domain.mail.corpus.test_mutants import check


@pytest.mark.parametrize("part", range(10))
def test_ten_thousand_mutants_are_read_within_bounds(part: int) -> None:
    seed = part if part % 2 else SystemRandom().randrange(2**32)
    sys.stdout.write(f"seed {seed}\n")
    assert check(mail_mutants(seed, 1_000)) == 1_000

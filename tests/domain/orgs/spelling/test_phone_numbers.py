"""One number from every way to write it, and no number from what is none."""

import pytest

from domain.orgs.spelling.phone_numbers import NumberParts, number_parts, read_number
from tests.domain.orgs.privacy.ways_to_write import NUMBERS

NUMBER = "+491701234567"
WITH_COUNTRY = ["groups", "dots", "hyphens", "no-break blanks", "two zeros", "a zero in parentheses", "full width"]


@pytest.mark.parametrize("way", WITH_COUNTRY)
def test_a_number_is_read_in_every_way_that_has_its_country(way: str) -> None:
    assert read_number(NUMBERS[way](NUMBER)) == NUMBER


@pytest.mark.parametrize("text", ["", "x", "0170 1234567", "170 1234567", "+999 1234567", "+49 1", "00", "1" * 4_000])
def test_what_is_no_number_with_its_country_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no number"):
        read_number(text)


def test_the_parts_of_a_number_are_those_of_its_country() -> None:
    assert number_parts(NUMBER) == NumberParts("49", "0", "1701234567")
    assert number_parts("+14155552671") == NumberParts("1", "1", "4155552671")
    assert number_parts("+4520261129") == NumberParts("45", "", "20261129")
    assert number_parts("+390612345678") == NumberParts("39", "", "0612345678")
    assert number_parts("+999123") == NumberParts("", "", "999123")

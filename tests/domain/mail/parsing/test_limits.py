"""The limits of a message stand on one page, with the numbers that the code has."""

import re

from domain.mail.parsing import limits
from tests.house.reading import ROOT

PAGE = ROOT / "docs" / "explanation" / "mail-limits.md"


def test_the_page_has_every_limit_with_its_number() -> None:
    shown = {
        name: int(value.replace(",", ""))
        for name, value in re.findall(r"\| `([A-Z_]+)` \| ([\d,]+) \|", PAGE.read_text())
    }
    assert shown == {name: value for name, value in vars(limits).items() if name.isupper()}

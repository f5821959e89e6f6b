"""What is taken for an address, whoever types it."""

import pytest

from domain.jobs.failures import Invalid
from domain.mail.email_address import check_address


def test_an_address_is_kept_in_lower_case() -> None:
    assert check_address("email", " Anna@Example.ORG ") == "anna@example.org"


@pytest.mark.parametrize(
    "text",
    ["", "anna", "@example.org", "anna@", "an na@example.org", "a@b@c", "a\x00@example.com", "a@" + "x" * 320],
)
def test_what_is_no_address_is_refused_by_its_field(text: str) -> None:
    with pytest.raises(Invalid, match="owner: is no address"):
        check_address("owner", text)

"""Who may decide, and what is taken for a person's id and zone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.orgs.access.users import MAY_DECIDE, UserRole, check_snowflake, check_zone


@pytest.mark.parametrize(("role", "may"), [("owner", True), ("admin", True), ("approver", True), ("member", False)])
def test_a_member_decides_nothing(role: str, may: bool) -> None:
    assert (UserRole(role) in MAY_DECIDE) is may


@given(st.integers(1, 2**64 - 1))
def test_every_id_of_discords_is_taken(number: int) -> None:
    assert check_snowflake("channel", str(number)) == str(number)


@pytest.mark.parametrize(
    "text", ["", "0", "007", "-1", "1.5", "1e9", "<@123>", "\uff11\uff12\uff13", "9" * 20, "1" * 30, "12 3"]
)
def test_what_is_no_id_is_refused_by_its_field(text: str) -> None:
    with pytest.raises(Invalid) as raised:
        check_snowflake("channel", text)
    assert raised.value.field == "channel"


@pytest.mark.parametrize("text", ["", "Mars/Base", "../../etc/passwd", "Europe/berlin ", "CET", "localtime"])
def test_what_is_no_zone_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="zone: "):
        check_zone(text)

"""What each role of an operator may do, and for which orgs."""

from itertools import product
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Conflict, Forbidden, Invalid
from domain.orgs.access.api_keys import Role
from domain.orgs.access.operators import (
    CONSOLE,
    MAY,
    NotProven,
    OperatorRights,
    OperatorRole,
    check_password,
    cookie_name,
    least_of,
    link_address,
    page_after,
)

A, B, C = (UUID(int=number) for number in (1, 2, 3))
ROLES = list(OperatorRole)


@pytest.mark.parametrize(("lesser", "greater"), list(product(ROLES, ROLES)))
def test_each_role_includes_those_before_it(lesser: OperatorRole, greater: OperatorRole) -> None:
    assert greater.includes(lesser) == (ROLES.index(greater) >= ROLES.index(lesser))
    if greater.includes(lesser):
        assert MAY[greater].includes(MAY[lesser])


@pytest.mark.parametrize("role", Role)
def test_the_least_role_for_an_operation_is_the_first_that_may_call_it(role: Role) -> None:
    may = [one for one in ROLES if MAY[one].includes(role)]
    assert least_of(role) == may[0]


@given(st.sampled_from(ROLES), st.sampled_from(ROLES), st.booleans(), st.booleans(), st.booleans())
def test_rights_are_role_and_scope(
    role: OperatorRole, needed: OperatorRole, is_scoped: bool, is_of_fleet: bool, is_proven: bool
) -> None:
    rights = OperatorRights(role, frozenset({A}) if is_scoped else None, is_proven)
    if role.includes(needed) and not (is_scoped and is_of_fleet):
        rights.check(needed, is_of_fleet=is_of_fleet)
    else:
        with pytest.raises(Forbidden):
            rights.check(needed, is_of_fleet=is_of_fleet)


def test_whoever_has_not_given_the_password_lately_gives_it_once_more() -> None:
    OperatorRights(OperatorRole.ADMIN, None, is_proven=True).check_proof()
    with pytest.raises(NotProven):
        OperatorRights(OperatorRole.ADMIN, None, is_proven=False).check_proof()


@pytest.mark.parametrize(
    ("scope", "named", "found"),
    [(None, None, None), (None, A, A), ({A}, None, A), ({A}, A, A), ({A, B}, B, B)],
)
def test_an_operator_acts_for_an_org_of_the_scope(
    scope: set[UUID] | None, named: UUID | None, found: UUID | None
) -> None:
    rights = OperatorRights(OperatorRole.VIEWER, None if scope is None else frozenset(scope), is_proven=True)
    assert rights.org_of(named) == found


@pytest.mark.parametrize(("scope", "named"), [({A}, B), ({A, B}, C), ({A, B}, None), (set(), None), (set(), A)])
def test_an_operator_acts_for_no_other_org(scope: set[UUID], named: UUID | None) -> None:
    with pytest.raises(Forbidden):
        OperatorRights(OperatorRole.ADMIN, frozenset(scope), is_proven=True).org_of(named)


@pytest.mark.parametrize("text", ["", "short", "a" * 14, "a" * 40, "x" * 1001, "my Ada@example.org password"])
def test_a_password_that_anybody_guesses_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_password(text, "ada@example.org")
    assert refused.value.field == "password"


def test_a_phrase_is_a_password() -> None:
    assert check_password("quiet orange ladders", "ada@example.org") == "quiet orange ladders"


@pytest.mark.parametrize(
    ("public_url", "cookie"),
    [
        ("https://mail.example.org", ("__Host-postroom", True)),
        ("", ("__Host-postroom", True)),
        ("http://mail.example.org", ("__Host-postroom", True)),
        ("http://localhost.example.org", ("__Host-postroom", True)),
        ("http://localhost:8000", ("postroom", False)),
        ("http://127.0.0.1:8000", ("postroom", False)),
    ],
)
def test_a_cookie_goes_over_tls_but_on_the_machine_itself(public_url: str, cookie: tuple[str, bool]) -> None:
    assert cookie_name(public_url) == cookie


@pytest.mark.parametrize(
    "asked",
    [
        "https://evil.example.org",
        "//evil.example.org",
        "/console//evil.example.org",
        "/consolex",
        "/console/../v1",
        "/console\\evil",
        "/console/\r\nSet-Cookie: a=b",
        "javascript:alert(1)",
        "",
    ],
)
def test_after_the_sign_in_nobody_is_sent_elsewhere(asked: str) -> None:
    assert page_after(asked) == CONSOLE


@pytest.mark.parametrize("asked", ["/console", "/console/jobs", "/console/jobs?state=dead&type=gmail.sync"])
def test_after_the_sign_in_the_page_comes_that_was_asked_for(asked: str) -> None:
    assert page_after(asked) == asked


def test_a_link_needs_an_address_that_it_leads_to() -> None:
    assert link_address("https://mail.example.org", "s") == "https://mail.example.org/console/password?link=s"
    with pytest.raises(Conflict):
        link_address("", "s")

"""Every page by hand: who sees it, and what it says of an empty ledger."""

from uuid import UUID

import pytest
from psycopg import Connection

from domain.orgs.access.operators import OperatorRole
from gateway.console.frame import KEYS
from gateway.console.pages import pages
from tests.doubles.factories import make_org
from tests.gateway.console.conftest import SignIn
from tests.gateway.console.signed import SignedBrowser

PAGES = {one.path: one for one in pages()}
OF_NOTHING = [path for path, one in PAGES.items() if one.key]
"""Pages that are there without a thing to show."""


def at(path: str, query: str = "") -> str:
    return f"/{path}".rstrip("/") + query


@pytest.mark.parametrize("role", list(OperatorRole))
def test_a_page_is_there_for_whoever_may_call_its_operation(sign_in: SignIn, org: UUID, role: OperatorRole) -> None:
    everywhere, here = sign_in(role), sign_in(role, org)
    for path in OF_NOTHING:
        needs = PAGES[path].needs
        may = needs is None or role.includes(needs.least)
        answers = {browser: browser.get(at(path)) for browser in (everywhere, here)}
        assert answers[everywhere].status == (200 if may else 403), path
        assert answers[here].status == (200 if may and not (needs and needs.is_of_fleet) else 403), path
        assert (f'href="/console{at(path)}" data-key' in everywhere.text()) is may, path


def test_a_page_shows_nothing_of_an_org_outside_of_the_scope(sign_in: SignIn, org: UUID, database: Connection) -> None:
    other = make_org(database, "the others")
    browser = sign_in(OperatorRole.ADMIN, org)
    for path in PAGES:
        answer = browser.get(at(path, f"?of_org={other}"))
        assert (answer.status, b"the others" not in answer.body) == (403, True), path


def test_a_page_knows_the_fields_of_its_address(admin: SignedBrowser) -> None:
    for path in OF_NOTHING:
        assert "is no field of this page" in admin.text(at(path, "?colour=red"), 422), path


def test_each_key_leads_to_one_page() -> None:
    keys = [*KEYS.values(), *(one.key for one in pages() if one.key and one.path not in KEYS)]
    assert len(keys) == len(set(keys))
    assert all(one.key == KEYS.get(one.path, one.key) for one in pages() if one.key)

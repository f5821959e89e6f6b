"""Operators sign in through an OpenID Connect provider: whom it names, by which token, in which browser."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from psycopg import Connection

from domain.jobs.job import SYSTEM_ORG
from domain.orgs.access.operators import (
    CONSOLE,
    PROVE,
    PROVIDER_PROOF,
    PROVIDER_RETURN,
    PROVIDER_START,
    SIGN_IN,
    OperatorIdentity,
)
from gateway.app import create_app
from sandbox.emulator.fault_order import FaultOrder
from sandbox.oidc.oidc import OidcControl
from settings import Settings
from storage.orgs.access import operators
from storage.postgres.database import Database
from tests.gateway.console.conftest import ADA
from tests.gateway.console.people import PUBLIC, Browser, add_operator, add_pages
from tests.gateway.oidc.clients import with_provider

WHO = "/console/who"
ATTEMPT = "__Host-postroom-attempt"
EVE = "eve@example.org"


@pytest.fixture
def ada(store: Database) -> str:
    """An admin who has a link, and no password."""
    return add_operator(store, ADA)


@pytest.fixture
def console(settings: Settings, provider: OidcControl, ada: str) -> FastAPI:  # noqa: ARG001 - the console has an operator
    app = create_app(with_provider(settings, provider.url))
    add_pages(app)
    return app


def way_back(sent: httpx2.Response) -> str:
    """What the provider sends a browser back to."""
    assert sent.status_code == 303, sent.text
    answer = httpx2.get(sent.headers["location"])
    assert answer.status_code == 302, answer.text
    assert answer.headers["location"].startswith(f"{PUBLIC}{PROVIDER_RETURN}?")
    return str(answer.headers["location"])


def come_in(browser: Browser, start: str = PROVIDER_START) -> httpx2.Response:
    return browser.get(way_back(browser.get(start)))


def facts(database: Connection) -> list[tuple[object, ...]]:
    return database.execute("select signed_in_at is not null, account is not null from operators").fetchall()


def test_an_operator_comes_in_by_the_account_of_the_same_address(
    browser: Browser, provider: OidcControl, database: Connection
) -> None:
    provider.set_person("Ada@Example.org")
    shown = browser.get(f"{SIGN_IN}?next=/console/jobs?state=dead")
    assert f'href="{PROVIDER_START}?next=%2Fconsole%2Fjobs%3Fstate%3Ddead"' in shown.text
    entered = come_in(browser, f"{PROVIDER_START}?next=%2Fconsole%2Fjobs%3Fstate%3Ddead")
    assert (entered.status_code, entered.headers["location"]) == (303, "/console/jobs?state=dead")
    assert browser.get(WHO).json() == {"email": ADA, "role": "admin"}
    assert browser.client.cookies.get(ATTEMPT) is None
    rows = database.execute("select data from audit_entries where event = 'operator.signed_in'").fetchall()
    assert [row[0]["by"] for row in rows] == ["provider"]


@pytest.mark.parametrize("claims", [{"nonce": "x" * 43}, {"email": "nobody@example.org"}])
def test_whoever_is_not_named_does_not_come_in(
    browser: Browser, provider: OidcControl, database: Connection, claims: dict[str, Any]
) -> None:
    provider.order_tokens(claims=claims)
    refused = come_in(browser)
    assert (refused.status_code, browser.cookie) == (403, None), refused.text
    assert "<form" in refused.text  # from which one begins once more
    assert facts(database) == [(False, False)]
    assert database.execute("select count(*) from operator_sessions").fetchone() == (0,)


@pytest.mark.parametrize(
    ("stored", "named"),
    [
        ("kim@example.org", "\N{KELVIN SIGN}im@example.org"),
        ("sam@example.org", "\N{LATIN SMALL LETTER LONG S}am@example.org"),
        ("boss@example.org", "bo\N{LATIN SMALL LETTER SHARP S}@example.org"),
    ],
)
def test_an_address_that_unicode_folds_into_an_operator_s_is_nobody_s(
    browser: Browser, provider: OidcControl, store: Database, stored: str, named: str
) -> None:
    add_operator(store, stored)
    provider.order_tokens(claims={"email": named})
    assert (come_in(browser).status_code, browser.cookie) == (403, None)


def test_a_browser_that_was_not_sent_does_not_come_in(
    browser: Browser, open_browser: Callable[[], Browser], provider: OidcControl
) -> None:
    """Whoever makes somebody open the own answer, or has got hold of another's, gains nothing."""
    back = way_back(browser.get(PROVIDER_START))
    victim = open_browser()
    assert victim.get(back).status_code == 403
    victim.get(PROVIDER_START)
    assert (victim.get(back).status_code, victim.cookie) == (403, None)
    for state in ("", "x", "ü", "x" * 43, parse_qs(urlsplit(back).query)["state"][0][:-1]):
        assert browser.get(f"{PROVIDER_RETURN}?code=x&state={state}").status_code == 403
    assert provider.journal("oidc.token") == []
    assert browser.get(back).status_code == 303


def test_an_answer_is_good_once(browser: Browser, provider: OidcControl) -> None:
    back = way_back(browser.get(PROVIDER_START))
    attempt = browser.client.cookies.get(ATTEMPT)
    assert attempt is not None
    assert browser.get(back).status_code == 303
    browser.client.cookies.delete("__Host-postroom")
    asked = len(provider.journal("oidc.token"))
    assert browser.get(back).status_code == 403
    assert len(provider.journal("oidc.token")) == asked
    browser.client.cookies.set(ATTEMPT, attempt, domain="mail.example.org", path="/")
    assert (browser.get(back).status_code, browser.cookie) == (403, None)  # the provider takes no code twice


@pytest.mark.parametrize(
    "more", ["&iss=https%3A%2F%2Fevil.example.org", "&error=access_denied", "&code=", "&code=another"]
)
def test_an_answer_of_somebody_else_is_none(browser: Browser, more: str) -> None:
    back = urlsplit(way_back(browser.get(PROVIDER_START)))
    state = parse_qs(back.query)["state"][0]
    code = "" if "code" in more else f"&code={parse_qs(back.query)['code'][0]}"
    refused = browser.get(f"{PROVIDER_RETURN}?state={state}{code}{more}")
    assert (refused.status_code, browser.cookie) == (403, None)


def test_the_cookie_of_an_attempt_is_the_browser_s_alone_and_short(browser: Browser) -> None:
    cookie = browser.get(f"{PROVIDER_START}?next=/console/jobs").headers["set-cookie"].lower()
    assert cookie.startswith(f"{ATTEMPT.lower()}=")
    for word in ("httponly", "secure", "samesite=lax", "path=/", "max-age=900"):
        assert word in cookie, word
    location = browser.get(PROVIDER_START).headers["location"]
    secret = str(browser.client.cookies.get(ATTEMPT))[:43]
    assert secret not in location


@pytest.mark.parametrize("after", ["https://evil.example.org", "//evil.example.org", "/console/%0d%0aX: y", "x" * 3999])
def test_the_way_leads_to_a_page_of_the_console(browser: Browser, after: str) -> None:
    assert come_in(browser, f"{PROVIDER_START}?next={after}").headers["location"] == CONSOLE


def test_an_address_that_went_to_somebody_else_lets_nobody_in(
    store: Database, browser: Browser, open_browser: Callable[[], Browser], provider: OidcControl
) -> None:
    assert come_in(browser).status_code == 303
    provider.set_person(ADA, subject="somebody else")
    refused = come_in(open_browser())
    assert refused.status_code == 403
    with store.ledger() as tx:
        operators.reset_link(tx, operators.named(tx, ADA).operator_id)
    assert come_in(open_browser()).status_code == 303


@pytest.mark.parametrize("change", [operators.deactivate, operators.remove])
def test_an_operator_who_went_meanwhile_does_not_come_in(
    store: Database, browser: Browser, change: Callable[..., None]
) -> None:
    add_operator(store, EVE)
    back = way_back(browser.get(PROVIDER_START))
    with store.ledger() as tx:
        change(tx, operators.named(tx, ADA).operator_id)
    assert (browser.get(back).status_code, browser.cookie) == (403, None)


def test_the_database_itself_refuses_another_address_and_another_account(store: Database, browser: Browser) -> None:
    come_in(browser)
    with store.ledger() as tx:
        found = operators.named(tx, ADA)
        assert found.account is not None
        good = OperatorIdentity(ADA, found.account, None)
        for identity in (
            OperatorIdentity(EVE, found.account, None),
            OperatorIdentity(ADA, b"x" * 32, None),
        ):
            assert operators.begin_session_by_account(tx, found.operator_id, identity) is None
        assert operators.begin_session_by_account(tx, found.operator_id, good)


@pytest.mark.parametrize("operation", ["oidc.document", "oidc.token"])
def test_the_page_says_that_the_provider_does_not_answer(
    ada: str, browser: Browser, provider: OidcControl, operation: str
) -> None:
    assert browser.use(ada).status_code == 303
    provider.order(FaultOrder(times=None, status=500, operation=operation))
    first = browser.get(PROVIDER_START)
    refused = first if operation == "oidc.document" else browser.get(way_back(first))
    assert (refused.status_code, "does not answer" in refused.text) == (503, True), refused.text
    assert browser.get(WHO).status_code == 200  # and the session that was there goes on


def test_those_who_wait_for_the_provider_leave_threads_for_all_others(
    browser: Browser, console: FastAPI, provider: OidcControl
) -> None:
    slots = console.state.resources.entrances
    with slots.hold(SYSTEM_ORG), slots.hold(SYSTEM_ORG):
        full = browser.get(PROVIDER_START)
        assert (full.status_code, "on their way" in full.text) == (429, True)
        assert browser.get(SIGN_IN).status_code == 200
    assert provider.journal() == []
    assert browser.get(PROVIDER_START).status_code == 303


def test_document_and_keys_are_asked_for_once(
    browser: Browser, open_browser: Callable[[], Browser], provider: OidcControl
) -> None:
    for one in (browser, open_browser(), open_browser()):
        assert come_in(one).status_code == 303
    assert [len(provider.journal(f"oidc.{name}")) for name in ("document", "keys", "token")] == [1, 1, 3]


def test_attempts_that_come_back_are_counted(browser: Browser, provider: OidcControl) -> None:
    provider.set_person("nobody@example.org")
    assert [come_in(browser).status_code for _ in range(6)] == [403] * 5 + [429]
    assert len(provider.journal("oidc.token")) == 5


def test_the_provider_asks_once_more_for_whoever_has_no_password(browser: Browser, database: Connection) -> None:
    assert come_in(browser).status_code == 303
    database.execute("update operator_sessions set proved_at = now() - interval '1 hour'")
    asked = browser.do("add_operator", email=EVE, role="viewer")
    assert (asked.status_code, asked.headers["location"]) == (303, PROVE)
    shown = browser.get(f"{PROVE}?next=/console/operators")
    assert 'type="password"' not in shown.text
    start = f"{PROVIDER_PROOF}?next=%2Fconsole%2Foperators"
    assert start in shown.text
    sent = browser.get(start)
    query = parse_qs(urlsplit(sent.headers["location"]).query)
    assert (query["prompt"], query["max_age"]) == (["login"], ["0"])
    before = browser.cookie
    proven = browser.get(way_back(sent))
    assert (proven.status_code, proven.headers["location"]) == (303, "/console/operators")
    assert browser.cookie != before
    assert browser.do("add_operator", email=EVE, role="viewer").status_code == 200


@pytest.mark.parametrize(
    ("person", "claims"),
    [
        ({"ago_s": 3600, "heeds_prompt": False}, {}),
        ({}, {"auth_time": None}),
        ({}, {"auth_time": "now"}),
        ({"subject": "somebody else"}, {}),
    ],
    ids=["did not ask", "does not say when", "says no time", "asked somebody else"],
)
def test_a_proof_that_is_none_renews_nothing(
    browser: Browser, provider: OidcControl, database: Connection, person: dict[str, Any], claims: dict[str, Any]
) -> None:
    come_in(browser)
    database.execute("update operator_sessions set proved_at = now() - interval '1 hour'")
    provider.set_person(ADA, **person)
    provider.order_tokens(claims=claims)
    refused = come_in(browser, PROVIDER_PROOF)
    assert refused.status_code == 403
    assert browser.do("add_operator", email=EVE, role="viewer").status_code == 303
    assert browser.get(WHO).status_code == 200


def test_a_sign_in_proves_no_more_than_the_provider_has_asked(
    open_browser: Callable[[], Browser], provider: OidcControl
) -> None:
    for number, (ago_s, is_proven) in enumerate(((0, True), (3600, False))):
        provider.set_person(ADA, ago_s=ago_s)
        one = open_browser()
        assert come_in(one).status_code == 303
        added = one.do("add_operator", email=f"{number}@example.org", role="viewer")
        assert (added.status_code == 200) is is_proven


def test_the_answer_to_a_sign_in_is_no_proof(browser: Browser, database: Connection) -> None:
    """The states of the two differ, so that neither passes for the other."""
    come_in(browser)
    first = database.execute("select id from operator_sessions").fetchone()
    assert come_in(browser, PROVIDER_PROOF).status_code == 303
    assert database.execute("select id from operator_sessions").fetchone() == first
    assert come_in(browser).status_code == 303
    assert database.execute("select id from operator_sessions").fetchone() != first


@pytest.mark.usefixtures("ada")
def test_where_no_provider_is_set_there_is_no_way_to_it(settings: Settings) -> None:
    with TestClient(
        create_app(settings.model_copy(update={"public_url": PUBLIC})), base_url=PUBLIC, follow_redirects=False
    ) as client:
        assert PROVIDER_START not in client.get(SIGN_IN).text
        assert client.get(PROVIDER_START).status_code == 404
        assert client.get(PROVIDER_RETURN).status_code == 404

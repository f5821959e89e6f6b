"""Operators sign in by a one-time link and a password, and by nothing else."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from http.cookies import SimpleCookie
from urllib.parse import urlencode
from uuid import UUID

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from psycopg import Connection
from pydantic import SecretStr

from domain.jobs.failures import Throttled
from domain.orgs.access.operators import CONSOLE, NEW_PASSWORD, PROVE, SIGN_IN, SIGN_OUT, OperatorRole
from gateway.app import create_app
from gateway.http.fairness import RequestPlaces
from gateway.http.rate_limit import SignInLimiter
from gateway.http.resources import Resources
from sandbox.servers.free_port import find_free_port
from settings import Settings
from storage.orgs.access import operators
from storage.postgres.database import Database
from tests.gateway.console.conftest import ADA
from tests.gateway.console.people import COOKIE, OURS, PASSWORD, PUBLIC, Browser, add_operator
from tests.gateway.serving import ask, serve
from tests.waiting import eventually

WHO = "/console/who"
EVE = "eve@example.org"


def test_without_an_operator_there_is_no_console(browser: Browser, store: Database) -> None:
    for path in (WHO, SIGN_IN, PROVE, NEW_PASSWORD):
        assert browser.get(path).status_code in {404, 410}, path
    assert browser.sign_in(ADA).status_code == 404
    add_operator(store, ADA)
    assert browser.get(SIGN_IN).status_code == 200


def test_whoever_has_not_signed_in_comes_to_the_page_for_it(browser: Browser, store: Database) -> None:
    add_operator(store, ADA)
    sent = browser.get(f"{WHO}?state=dead")
    assert sent.status_code == 303
    assert sent.headers["location"] == f"{SIGN_IN}?next=%2Fconsole%2Fwho%3Fstate%3Ddead"
    assert browser.get(WHO, **{"HX-Request": "true"}).headers["hx-redirect"].startswith(SIGN_IN)
    assert browser.post("/console/write", {}).status_code == 303


def test_a_link_is_looked_at_as_often_as_one_likes_and_used_once(
    store: Database, browser: Browser, open_browser: Callable[[], Browser]
) -> None:
    link = add_operator(store, ADA)
    for _ in range(2):
        shown = browser.get(f"{NEW_PASSWORD}?link={link}")
        assert (shown.status_code, ADA in shown.text) == (200, True)
    assert browser.use(link, "short").status_code == 422
    assert browser.use(link).status_code == 303
    assert browser.get(WHO).json() == {"email": ADA, "role": "admin"}
    assert open_browser().get(f"{NEW_PASSWORD}?link={link}").status_code == 410
    assert open_browser().use(link, "another good password").status_code == 410
    assert open_browser().sign_in(ADA, "another good password").status_code == 403
    assert open_browser().sign_in(ADA).status_code == 303


@pytest.mark.parametrize("link", ["", "x" * 43, "\udc80", "x" * 5000])
def test_a_link_that_nobody_made_is_good_for_nothing(store: Database, browser: Browser, link: str) -> None:
    add_operator(store, ADA)
    assert browser.use(link.encode("utf-8", "replace").decode()).status_code == 410


def test_a_link_that_is_too_old_is_good_for_nothing(store: Database, browser: Browser, database: Connection) -> None:
    link = add_operator(store, ADA)
    database.execute("update operators set link_expires_at = now() - interval '1 second'")
    assert browser.get(f"{NEW_PASSWORD}?link={link}").status_code == 410
    assert browser.use(link).status_code == 410


def test_a_new_link_ends_the_one_before_and_its_use_every_session(
    store: Database, ada: Browser, open_browser: Callable[[], Browser]
) -> None:
    with store.ledger() as tx:
        found = operators.named(tx, ADA)
        first = operators.reset_link(tx, found.operator_id)
        second = operators.reset_link(tx, found.operator_id)
    assert open_browser().use(first).status_code == 410
    assert ada.get(WHO).status_code == 200
    other = open_browser()
    assert other.use(second, "a second good password").status_code == 303
    assert ada.get(WHO).status_code == 303
    assert other.get(WHO).status_code == 200


def test_the_cookie_is_the_browser_s_alone(store: Database, browser: Browser, database: Connection) -> None:
    entered = browser.use(add_operator(store, ADA))
    morsel, known = (next(iter(SimpleCookie(one).values())) for one in entered.headers.get_list("set-cookie"))
    assert (known.key, known["samesite"]) == (f"{morsel.key}-known", "strict")
    assert morsel.key == COOKIE
    assert (morsel["httponly"], morsel["secure"], morsel["samesite"].lower(), morsel["path"], morsel["domain"]) == (
        True, True, "lax", "/", "",
    )  # fmt: skip
    assert len(morsel.value) == 43
    kept = database.execute("select to_jsonb(s)::text || to_jsonb(o)::text from operator_sessions s, operators o")
    (row,) = kept.fetchall()
    assert morsel.value not in row[0]
    assert PASSWORD not in row[0]
    assert "$argon2id$v=19$m=19456,t=2,p=1$" in row[0]


def test_on_the_machine_itself_the_cookie_goes_without_tls(settings: Settings, store: Database) -> None:
    here = "http://localhost:8000"
    app = create_app(settings.model_copy(update={"public_url": here}))
    with TestClient(app, base_url=here, follow_redirects=False) as client:
        entered = Browser(client).use(add_operator(store, ADA))
        assert client.get(PROVE).status_code == 200
    morsel, known = (next(iter(SimpleCookie(one).values())) for one in entered.headers.get_list("set-cookie"))
    assert (known.key, known["samesite"]) == (f"{morsel.key}-known", "strict")
    assert (morsel.key, morsel["secure"], morsel["httponly"], morsel["samesite"]) == ("postroom", "", True, "lax")


class CountingPlaces(RequestPlaces):
    """Counts who has held one."""

    def __init__(self) -> None:
        super().__init__(2)
        self.count = 0

    @asynccontextmanager
    async def hold(self, org_id: UUID) -> AsyncIterator[None]:
        self.count += 1
        async with super().hold(org_id):
            yield


def test_an_unknown_address_has_the_answer_of_a_wrong_password_after_the_same_work(
    store: Database, console: FastAPI, ada: Browser, open_browser: Callable[[], Browser]
) -> None:
    assert ada.cookie
    add_operator(store, "no-password-yet@example.org")
    counting = CountingPlaces()
    console.state.resources = replace(console.state.resources, hashes=counting)
    stranger, answers = open_browser(), []
    for number, email in enumerate((ADA, EVE, "no-password-yet@example.org"), start=1):
        refused = stranger.sign_in(email, "a wrong password")
        assert (refused.status_code, counting.count) == (403, number)
        answers.append(refused.text.replace(email, ""))
    assert answers[0] == answers[1] == answers[2]
    assert "is not right" in answers[0]


def test_a_deactivated_operator_does_not_sign_in(
    store: Database, ada: Browser, open_browser: Callable[[], Browser]
) -> None:
    with store.ledger() as tx:
        operators.deactivate(tx, operators.named(tx, ADA).operator_id)
    add_operator(store, EVE)
    assert ada.get(WHO).status_code == 303
    assert open_browser().sign_in(ADA).status_code == 403


@pytest.mark.parametrize(
    "change",
    [
        lambda tx, found: operators.deactivate(tx, found.operator_id),
        lambda tx, found: operators.change(tx, found.operator_id, OperatorRole.VIEWER, None, all_orgs=True),
        lambda tx, found: operators.end_sessions(tx, found.operator_id),
        lambda tx, found: operators.remove(tx, found.operator_id),
    ],
    ids=["deactivated", "another role", "ended", "removed"],
)
def test_a_session_ends_within_one_request(store: Database, ada: Browser, change: Callable[..., object]) -> None:
    add_operator(store, EVE)
    token = ada.token
    assert ada.post("/console/write", {"token": token}).status_code == 200
    with store.ledger() as tx:
        change(tx, operators.named(tx, ADA))
    assert ada.get(WHO).status_code == 303
    assert ada.post("/console/write", {"token": token}).status_code == 303


@pytest.mark.parametrize(
    ("aged", "is_good"),
    [
        ("seen_at = now() - interval '29 minutes'", True),
        ("seen_at = now() - interval '31 minutes'", False),
        ("began_at = now() - interval '12 hours', ends_at = now() - interval '1 second'", False),
    ],
)
def test_a_session_ends_by_its_age(ada: Browser, database: Connection, aged: str, is_good: bool) -> None:
    database.execute(f"update operator_sessions set {aged}")
    assert (ada.get(WHO).status_code == 200) is is_good


def test_a_session_that_is_used_goes_on_and_ends_all_the_same(ada: Browser, database: Connection) -> None:
    database.execute("update operator_sessions set seen_at = now() - interval '20 minutes'")
    assert ada.get(WHO).status_code == 200
    noted = "select seen_at > now() - interval '1 minute', ends_at - began_at = '12 hours' from operator_sessions"
    eventually(lambda: database.execute(noted).fetchone() == (True, True), describe="the use was not noted")


def test_a_sign_in_takes_no_session_that_somebody_else_has_begun(
    store: Database, ada: Browser, open_browser: Callable[[], Browser]
) -> None:
    """Session fixation: a cookie that was there before is worth nothing afterwards."""
    add_operator(store, EVE)
    before = ada.cookie
    assert before
    victim = open_browser()
    victim.client.cookies.set(COOKIE, before, domain="mail.example.org", path="/")
    assert victim.sign_in(ADA).status_code == 303
    assert victim.cookie != before
    assert ada.get(WHO).status_code == 303
    planted = open_browser()
    planted.client.cookies.set(COOKIE, "planted", domain="mail.example.org", path="/")
    assert planted.get(WHO).status_code == 303
    planted.sign_in(ADA)
    assert planted.cookie != "planted"


def test_a_sign_out_ends_the_session(ada: Browser, open_browser: Callable[[], Browser]) -> None:
    cookie = ada.cookie
    assert cookie
    assert ada.post(SIGN_OUT, {}).status_code == 403
    assert ada.get(WHO).status_code == 200
    assert ada.post(SIGN_OUT, {"token": ada.token}).headers["location"] == SIGN_IN
    assert ada.cookie is None
    other = open_browser()
    other.client.cookies.set(COOKIE, cookie, domain="mail.example.org", path="/")
    assert other.get(WHO).status_code == 303


def test_attempts_are_counted_by_network_and_account_alike_for_every_address(
    console: FastAPI, ada: Browser, open_browser: Callable[[], Browser]
) -> None:
    """Five from one network, and thirty of one account; whoever tries more is not even compared."""
    assert ada.cookie
    stranger = open_browser()
    given = [stranger.sign_in(EVE, "a wrong password").status_code for _ in range(6)]
    assert given == [403] * 5 + [429]
    full = stranger.sign_in(ADA)
    assert (full.status_code, stranger.cookie) == (429, None)
    resources: Resources = console.state.resources
    for number in range(30):
        resources.sign_ins.count(ADA, f"192.0.2.{number}")
    with pytest.raises(Throttled):
        resources.sign_ins.count(ADA, "192.0.2.99")


def test_no_stranger_keeps_out_whoever_has_come_in_before(
    console: FastAPI, store: Database, ada: Browser, open_browser: Callable[[], Browser]
) -> None:
    """Nor do they prove for somebody; a browser that an account has used has five attempts, of that account alone."""
    stranger = open_browser()
    assert [stranger.sign_in(ADA, "a wrong password").status_code for _ in range(6)] == [403] * 5 + [429]
    for number in range(25):
        console.state.resources.sign_ins.count(ADA, f"192.0.2.{number}")
    assert ada.prove().status_code == 303
    assert ada.sign_in(ADA).status_code == 303
    ada.post(SIGN_OUT, {"token": ada.token})
    assert [ada.sign_in(ADA, "a wrong password").status_code for _ in range(6)] == [403] * 5 + [429]
    add_operator(store, EVE)
    assert ada.sign_in(EVE).status_code == 429


def test_whoever_has_a_session_guesses_five_passwords_a_minute(ada: Browser) -> None:
    assert [ada.prove("a wrong password").status_code for _ in range(6)] == [403] * 5 + [429]


def test_a_trusted_proxy_says_from_which_network_a_browser_comes(settings: Settings, store: Database) -> None:
    add_operator(store, ADA)
    form = urlencode({"email": ADA, "password": "a wrong password"}).encode()
    with serve(settings.model_copy(update={"public_url": PUBLIC})) as url:
        given = [
            ask(f"{url}{SIGN_IN}", form, {
                "Content-Type": "application/x-www-form-urlencoded", "X-Forwarded-For": network, **OURS,
            }).status
            for network in ["198.51.100.1"] * 6 + ["198.51.100.2"]
        ]  # fmt: skip
    assert given == [403] * 5 + [429, 403]


def test_nobody_guesses_without_a_bound_while_redis_is_away(settings: Settings) -> None:
    away = settings.model_copy(update={"limits_url": SecretStr(f"redis://127.0.0.1:{find_free_port()}/0")})
    limiter = SignInLimiter(away)
    for number in range(30):
        limiter.count(ADA, f"192.0.2.{number // 5}")
    for account, network in ((ADA, "192.0.2.99"), (EVE, "192.0.2.1")):
        with pytest.raises(Throttled):
            limiter.count(account, network)


def test_a_flood_of_sign_ins_waits_beside_the_pages_and_not_before_them(console: FastAPI, ada: Browser) -> None:
    """Whoever finds no slot in time is sent away, and holds up nobody who has a session."""
    assert console.state.resources.hashes.each == 2
    console.state.resources = replace(console.state.resources, hashes=RequestPlaces(0, 0.01))
    assert ada.sign_in(ADA).status_code == 503
    assert ada.get(WHO).status_code == 200


def test_after_the_sign_in_the_page_comes_that_was_asked_for(ada: Browser, open_browser: Callable[[], Browser]) -> None:
    assert ada.cookie
    assert (
        open_browser().sign_in(ADA, next="/console/jobs?state=dead").headers["location"] == "/console/jobs?state=dead"
    )
    assert open_browser().sign_in(ADA, next="https://evil.example.org").headers["location"] == CONSOLE


@pytest.mark.parametrize("path", [SIGN_IN, NEW_PASSWORD, PROVE])
def test_no_page_is_kept_framed_or_runs_a_script(ada: Browser, store: Database, path: str) -> None:
    shown = ada.get(f"{path}?next=%22%3E%3Cscript%3E&link={add_operator(store, EVE)}")
    assert "<script" not in shown.text
    assert shown.headers["cache-control"] == "no-store"
    policy = shown.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize("hostile", ['"><script>alert(1)</script>', "\u202eevil", "x" * 200_000, "\ud800", "a\0b"])
def test_hostile_words_are_words(ada: Browser, open_browser: Callable[[], Browser], hostile: str) -> None:
    words = hostile.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    assert ada.prove(words).status_code == 403
    refused = open_browser().post(SIGN_IN, {"email": words, "password": words, "next": words})
    assert refused.status_code == 403
    assert "<script" not in refused.text


def test_what_comes_and_goes_is_audited_without_address_or_secret(ada: Browser, database: Connection) -> None:
    ada.prove()
    ada.post(SIGN_OUT, {"token": ada.token})
    rows = database.execute(
        "select event, actor_id, data::text from audit_entries where event like 'operator.%' order by id"
    ).fetchall()
    assert [row[0] for row in rows] == [
        "operator.password_set", "operator.signed_in", "operator.proven", "operator.signed_out",
    ]  # fmt: skip
    assert {row[1].partition(":")[0] for row in rows} == {"operator"}
    assert not any(ADA in row[2] or PASSWORD in row[2] for row in rows)

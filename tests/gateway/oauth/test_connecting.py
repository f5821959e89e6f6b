"""An owner connects a mailbox by browser: once per link, once per code, and whole or not at all."""

import threading
from contextlib import ExitStack
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
from psycopg import Connection

from domain.jobs.failures import Throttled
from domain.mail.consent import FULL, MODIFY
from gateway.http.resources import EXCHANGES_AT_ONCE, Resources
from gateway.oauth.connecting import connect
from sandbox.emulator.control import FaultOrder, GmailControl
from sandbox.google.consenting import ScreenRefused, consent
from settings import Settings
from storage.mail.accounts import consents, tokens
from storage.orgs.secrets.sealing import Sealer
from storage.postgres.database import Database
from tests.gateway.oauth.browser import CALLBACK, PUBLIC, Browser
from tests.gateway.oauth.conftest import CLIENT_ID, CLIENT_SECRET, EMAIL, ORG, MakeLink
from tests.waiting import eventually

FIRST = {"accounts.onboard", "gmail.sync"}


def nothing_is_connected(database: Connection) -> bool:
    """No account, no token, no job."""
    rows = database.execute("select (select count(*) from accounts), (select count(*) from jobs)").fetchone()
    return rows == (0, 0)


def ended(database: Connection) -> list[tuple[str, str | None]]:
    """How each request stands."""
    return database.execute("select state, refusal from consent_requests order by id").fetchall()


def exchanges(gmail: GmailControl) -> int:
    return len(gmail.journal("oauth.token"))


def test_ac_25_a_mailbox_is_connected_and_its_jobs_begin(
    browser: Browser, make_link: MakeLink, connecting: Settings, store: Database, database: Connection
) -> None:
    link = make_link()
    asked = browser.get(link)
    assert (asked.status, asked.title) == (200, f"Connect {EMAIL}")
    assert f"{ORG} asks for access" in asked.text
    done = browser.connect(link)
    assert (done.status, done.title) == (200, f"{EMAIL} is connected")
    query = "select a.id, a.status, a.scopes, length(a.google_subject), o.name, u.email from accounts a"
    query += " join orgs o on o.id = a.org_id join users u on u.id = a.user_id"
    ((account_id, status, scopes, subject, org, owner),) = database.execute(query.encode()).fetchall()
    assert (status, subject, org, owner) == ("active", 21, ORG, EMAIL)
    assert MODIFY in scopes
    with store.ledger() as tx:
        held = tokens.current(tx, Sealer.of(connecting), account_id)
    assert held.refresh_token is not None
    assert held.refresh_token.get_secret_value().startswith("1//")
    jobs = database.execute("select job_type, actor_id, payload ->> 'account_id' from jobs").fetchall()
    assert set(jobs) == {(job_type, "operator:ada", str(account_id)) for job_type in FIRST}
    events = database.execute("select event from audit_log where event like 'account.%' order by id").fetchall()
    assert events == [("account.consent_asked",), ("account.connected",)]
    assert ended(database) == [("connected", None)]


def test_what_google_is_asked_for(browser: Browser, make_link: MakeLink) -> None:
    asked = {name: values[0] for name, values in parse_qs(urlsplit(browser.press(make_link()).location).query).items()}
    assert (asked["client_id"], asked["redirect_uri"], asked["login_hint"]) == (CLIENT_ID, CALLBACK, EMAIL)
    assert (asked["access_type"], asked["prompt"], asked["response_type"]) == ("offline", "consent", "code")
    assert (asked["code_challenge_method"], len(asked["code_challenge"])) == ("S256", 43)
    assert asked["scope"].split() == ["openid", "email", MODIFY]
    more = parse_qs(urlsplit(browser.press(make_link(deletes=True)).location).query)
    assert more["scope"][0].split() == ["openid", "email", MODIFY, FULL]
    assert more["state"][0] != asked["state"]


def test_a_page_can_be_neither_framed_nor_kept(browser: Browser, make_link: MakeLink, gmail: GmailControl) -> None:
    headers = browser.get(make_link()).headers
    assert (headers["x-frame-options"], headers["cache-control"]) == ("DENY", "no-store")
    assert headers["referrer-policy"] == "same-origin"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert f"form-action 'self' {gmail.url}" in headers["content-security-policy"]


def test_looking_at_a_link_does_not_use_it_up_and_pressing_does(browser: Browser, make_link: MakeLink) -> None:
    link = make_link()
    assert [browser.get(link).status for _ in range(3)] == [200, 200, 200]
    assert browser.press(link).status == 303
    assert (browser.press(link).status, browser.get(link).status) == (410, 410)


def test_an_old_link_and_a_late_answer_connect_nothing(
    browser: Browser, make_link: MakeLink, database: Connection, gmail: GmailControl
) -> None:
    old = make_link()
    database.execute("update consent_requests set link_expires_at = now() - interval '1 second'")
    assert (browser.get(old).status, browser.press(old).status) == (410, 410)
    late = browser.return_address(make_link())
    database.execute("update consent_requests set answer_by = now() - interval '1 second' where state = 'sent'")
    page = browser.get(late)
    assert (page.status, "It took too long" in page.text) == (409, True)
    assert (exchanges(gmail), nothing_is_connected(database)) == (0, True)


def test_a_forged_state_is_refused(
    browser: Browser, make_link: MakeLink, database: Connection, gmail: GmailControl
) -> None:
    browser.press(make_link())
    for forged in (
        "state=forged&code=4%2F0Astolen",
        "code=4%2F0Astolen",
        f"state={'x' * 5000}&code=4%2F0Astolen",
        "state=forged&error=access_denied",
        "state=%00%27%3Cscript%3E&code=x",
    ):
        page = browser.get(f"{CALLBACK}?{forged}")
        assert (page.status, "<script>" in page.text) == (403, False)
    assert (exchanges(gmail), nothing_is_connected(database), ended(database)) == (0, True, [("sent", None)])


def test_a_forged_link_is_refused(browser: Browser) -> None:
    for forged in ("0", "forged", "x" * 3000, "%00"):
        link = f"{PUBLIC}/oauth/google/start?link={forged}"
        assert (browser.get(link).status, browser.press(link).status) == (404, 404)
    assert browser.press(f"{PUBLIC}/oauth/google/start?link={'x' * 5000}").status == 413


def test_an_answer_in_another_browser_is_refused(
    door: str, browser: Browser, make_link: MakeLink, database: Connection
) -> None:
    """Somebody lures an owner to Google with a state of their own: the owner's browser has not the cookie."""
    address = browser.return_address(make_link())
    lured = Browser(door, {"postroom_consent_0": "x"})
    assert lured.get(address).status == 403
    assert nothing_is_connected(database)
    assert browser.get(address).status == 200, "the right browser still can"


def test_a_form_of_another_site_is_refused(browser: Browser, make_link: MakeLink, database: Connection) -> None:
    page = browser.press(make_link(), {"Sec-Fetch-Site": "cross-site"})
    assert (page.status, ended(database)) == (403, [("asked", None)])


def test_the_same_answer_again_is_harmless(
    browser: Browser, make_link: MakeLink, database: Connection, gmail: GmailControl
) -> None:
    address = browser.return_address(make_link())
    pages = [browser.get(address) for _ in range(3)]
    assert [page.title for page in pages] == [f"{EMAIL} is connected"] * 3
    assert exchanges(gmail) == 1
    assert database.execute("select count(*) from jobs").fetchone() == (len(FIRST),)
    other = browser.get(address.replace("code=", "code=other"))
    assert (other.title, exchanges(gmail)) == (f"{EMAIL} is connected", 1)


def test_an_answer_that_comes_twice_at_once_is_exchanged_once(
    door: str, browser: Browser, make_link: MakeLink, database: Connection, gmail: GmailControl
) -> None:
    address = browser.return_address(make_link())
    gmail.order(FaultOrder(operation="oauth.token", hang_s=60))
    titles: list[str] = []
    first = threading.Thread(target=lambda: titles.append(browser.get(address).title))
    first.start()
    eventually(lambda: ended(database) == [("exchanging", None)], describe="nobody took the state")
    second = Browser(door, dict(browser.cookies)).get(address)
    gmail.clear_faults()
    first.join(10)
    assert (second.status, second.title, 'http-equiv="refresh"' in second.text) == (202, "Connecting", True)
    assert (titles, exchanges(gmail)) == ([f"{EMAIL} is connected"], 1)
    assert browser.get(address).title == f"{EMAIL} is connected"


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        ("state = 'refused', refusal = 'denied'", "not connected"),
        ("answered_at = now() - interval '2 minutes'", "broken off"),
    ],
)
def test_an_exchange_that_was_ended_meanwhile_connects_nothing(
    ending: str, words: str, browser: Browser, make_link: MakeLink, database: Connection, gmail: GmailControl
) -> None:
    address = browser.return_address(make_link())
    gmail.order(FaultOrder(operation="oauth.token", hang_s=60))
    pages: list[str] = []
    first = threading.Thread(target=lambda: pages.append(browser.get(address).text))
    first.start()
    eventually(lambda: ended(database) == [("exchanging", None)], describe="nobody took the state")
    database.execute(f"update consent_requests set {ending}")
    gmail.clear_faults()
    first.join(10)
    assert words in pages[0]
    assert nothing_is_connected(database)


def test_an_exchange_that_died_is_said_to_be_broken_off(
    browser: Browser, make_link: MakeLink, database: Connection, gmail: GmailControl
) -> None:
    address = browser.return_address(make_link())
    database.execute(
        "update consent_requests set state = 'exchanging', sealed_verifier = null,"
        " answered_at = now() - interval '2 minutes'"
    )
    page = browser.get(address)
    assert (page.status, "broken off" in page.text, exchanges(gmail)) == (409, True, 0)
    assert browser.connect(make_link()).status == 200


def test_what_google_refuses_is_shown_plainly(
    browser: Browser, make_link: MakeLink, database: Connection, gmail: GmailControl
) -> None:
    for error, words in (
        ("access_denied", "You did not allow the access"),
        ("admin_policy_enforced", "administrator of your Google Workspace"),
        ("server_error", "Its reason: server_error"),
        ("<script>", "Its reason: an unknown error"),
    ):
        state = parse_qs(urlsplit(browser.press(make_link()).location).query)["state"][0]
        page = browser.get(f"{CALLBACK}?state={state}&error={error}")
        assert (page.status, words in page.text, "<script>" in page.text) == (409, True, False)
        again = browser.get(f"{CALLBACK}?state={state}&code=4%2F0Alate")
        assert again.text == page.text
    whys = [("refused", why) for why in ("denied", "policy", "google", "google")]
    assert (exchanges(gmail), ended(database)) == (0, whys)


def test_who_cancels_at_google_connects_nothing(browser: Browser, make_link: MakeLink, database: Connection) -> None:
    page = browser.connect(make_link(), deny=True)
    assert (page.status, "not allow" in page.text) == (409, True)
    assert nothing_is_connected(database)
    events = database.execute("select data ->> 'why' from audit_log where event = 'account.consent_refused'").fetchall()
    assert events == [("denied",)]


def test_a_box_left_unticked_is_named(browser: Browser, make_link: MakeLink, database: Connection) -> None:
    modify, full = "to read, write and send mail (gmail.modify)", "to delete mail for good (mail.google.com)"
    for deletes, untick, missing in (
        (False, (MODIFY,), modify),
        (True, (FULL,), full),
        (True, (MODIFY, FULL), f"{modify}, {full}"),
    ):
        page = browser.connect(make_link(deletes=deletes), untick=untick)
        assert (page.status, f"What is missing: {missing}." in page.text) == (409, True)
    assert (nothing_is_connected(database), ended(database)) == (True, [("refused", "missing_scope")] * 3)


def test_the_full_scope_covers_the_others(browser: Browser, make_link: MakeLink) -> None:
    assert browser.connect(make_link(deletes=True), untick=(MODIFY,)).status == 200


def test_another_mailbox_is_refused_by_name(
    browser: Browser, make_link: MakeLink, database: Connection, gmail: GmailControl
) -> None:
    gmail.create_account("ben@example.com", "access-2", "refresh-2")
    page = browser.connect(make_link(), email="ben@example.com")
    assert (page.status, "ben@example.com" in page.text) == (409, True)
    assert nothing_is_connected(database)


def test_a_mailbox_of_another_org_is_refused_until_it_is_disconnected_there(
    browser: Browser, make_link: MakeLink, database: Connection
) -> None:
    assert browser.connect(make_link(org="First")).status == 200
    page = browser.connect(make_link(org="Second"))
    assert (page.status, "another organisation" in page.text) == (409, True)
    assert "First" not in page.text
    assert database.execute("select count(*) from accounts").fetchone() == (1,)
    database.execute(
        "update accounts set status = 'disconnected', sealed_access_token = null, sealed_refresh_token = null,"
        " access_expires_at = null"
    )
    assert browser.connect(make_link(org="Second")).status == 200


def test_an_address_that_changed_hands_is_refused(browser: Browser, make_link: MakeLink, gmail: GmailControl) -> None:
    assert browser.connect(make_link()).status == 200
    gmail.register_client(CLIENT_ID, CLIENT_SECRET, CALLBACK, subjects={EMAIL: "100000000000000000001"})
    page = browser.connect(make_link())
    assert (page.status, "another Google user" in page.text) == (409, True)


def test_a_code_that_google_does_not_take_connects_nothing(
    browser: Browser, make_link: MakeLink, database: Connection, gmail: GmailControl
) -> None:
    address = browser.return_address(make_link())
    gmail.advance_clock(601)
    page = browser.get(address)
    assert (page.status, "too old" in page.text) == (409, True)
    assert nothing_is_connected(database)


def test_a_code_of_another_request_does_not_fit_its_verifier(
    browser: Browser, make_link: MakeLink, database: Connection
) -> None:
    """Somebody puts a stolen code into a request of their own: its challenge was made from another verifier."""
    stolen = parse_qs(urlsplit(browser.return_address(make_link())).query)["code"][0]
    mine = browser.return_address(make_link(org="Mallory"))
    state = parse_qs(urlsplit(mine).query)["state"][0]
    page = browser.get(f"{CALLBACK}?state={state}&code={stolen}")
    assert (page.status, nothing_is_connected(database)) == (409, True)


def test_a_client_that_google_does_not_know_is_the_operators_to_mend(
    browser: Browser, make_link: MakeLink, gmail: GmailControl
) -> None:
    address = browser.return_address(make_link())
    gmail.register_client(CLIENT_ID, "another secret", CALLBACK)
    page = browser.get(address)
    assert (page.status, "An operator must check" in page.text, "google.invalid_client" in page.text) == (
        409,
        True,
        True,
    )
    with pytest.raises(ScreenRefused, match="redirect_uri_mismatch"):
        gmail.register_client(CLIENT_ID, CLIENT_SECRET, "https://elsewhere.example.org/callback")
        consent(browser.press(make_link()).location)


def test_a_token_endpoint_that_does_not_answer_is_asked_once(
    browser: Browser, make_link: MakeLink, database: Connection, gmail: GmailControl
) -> None:
    orders = (
        FaultOrder(operation="oauth.token", hang_s=3.0),
        FaultOrder(operation="oauth.token", status=503),
        FaultOrder(operation="oauth.token", drop="before"),
        FaultOrder(operation="oauth.token", drop="after"),
    )
    for number, order in enumerate(orders, 1):
        address = browser.return_address(make_link())
        gmail.order(order)
        for _ in range(2):
            page = browser.get(address)
            assert (page.status, "Google did not answer" in page.text) == (502, True)
            assert exchanges(gmail) == number, "no code is exchanged a second time"
    assert nothing_is_connected(database)
    assert browser.connect(make_link()).status == 200


def test_an_account_without_a_mailbox_is_refused(browser: Browser, make_link: MakeLink, gmail: GmailControl) -> None:
    address = browser.return_address(make_link())
    gmail.order(FaultOrder(operation="getProfile", status=400, reason="failedPrecondition"))
    page = browser.get(address)
    assert (page.status, "has no Gmail mailbox" in page.text) == (409, True)


def test_a_database_that_fails_at_the_end_connects_nothing(
    browser: Browser, make_link: MakeLink, database: Connection
) -> None:
    """Tokens, jobs and the outcome stand or fall together."""
    address = browser.return_address(make_link())
    database.execute("alter table accounts add constraint refuses check (sealed_access_token is null)")
    assert browser.get(address).status == 500
    assert (nothing_is_connected(database), ended(database)) == (True, [("exchanging", None)])


def test_too_many_exchanges_at_once_leave_the_code_good(
    connecting: Settings, browser: Browser, make_link: MakeLink, store: Database, gmail: GmailControl
) -> None:
    address = browser.return_address(make_link())
    resources = Resources.of(connecting)
    given = parse_qs(urlsplit(address).query)
    with store.ledger() as tx:
        asked = consents.by_state(tx, given["state"][0])
    assert asked is not None
    with ExitStack() as busy:
        for _ in range(EXCHANGES_AT_ONCE):
            busy.enter_context(resources.exchanges.hold(uuid4()))
        with pytest.raises(Throttled):
            connect(resources, asked, given["code"][0])
    resources.database.dispose()
    assert (exchanges(gmail), browser.get(address).status) == (0, 200)


def test_no_secret_is_logged(
    browser: Browser, make_link: MakeLink, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    link = make_link()
    address = browser.return_address(link)
    browser.get(address)
    secrets = [parse_qs(urlsplit(link).query)["link"][0], *parse_qs(urlsplit(address).query)["code"]]
    secrets += [*parse_qs(urlsplit(address).query)["state"], *browser.cookies.values(), CLIENT_SECRET, "ya29.", "1//"]
    printed = caplog.text + "".join(capfd.readouterr())
    assert "consent_answered" in printed
    assert [secret for secret in secrets if secret in printed] == []

"""What an owner reads when the installation is in trouble: a page with what to do, and no document for programs."""

import pytest
from pydantic import SecretStr

from sandbox.emulator.control import GmailControl
from sandbox.servers.free_port import find_free_port
from settings import Settings
from tests.gateway.oauth.browser import CALLBACK, PUBLIC, Browser
from tests.gateway.oauth.conftest import EMAIL, MakeLink
from tests.gateway.serving import serve

NOWHERE = "postgresql://postgres:hunter2@127.0.0.1:{}/none"


def test_a_database_that_is_away_is_a_page_that_says_to_come_again(
    connecting: Settings, browser: Browser, make_link: MakeLink
) -> None:
    link = make_link()
    back = browser.return_address(make_link())
    nowhere = SecretStr(NOWHERE.format(find_free_port()))
    urls = {"database_url": nowhere, "ledger_database_url": None, "tenant_database_url": None}
    with serve(connecting.model_copy(update=urls)) as url:
        away = Browser(url, browser.cookies)
        for found in (away.get(link), away.press(link), away.get(back)):
            assert found.status == 503
            assert "reload this page" in found.text
            assert found.headers["cache-control"] == "no-store"
            assert "hunter2" not in found.text
    assert browser.get(back).title == f"{EMAIL} is connected", "neither the code nor the link was used up"
    assert browser.press(link).status == 303


@pytest.mark.parametrize("lacking", ["public_url", "google_client_id", "google_client_secret"])
def test_a_gateway_that_is_not_set_up_uses_no_link_up(
    lacking: str, connecting: Settings, browser: Browser, make_link: MakeLink
) -> None:
    link = make_link()
    empty = SecretStr("") if lacking == "google_client_secret" else ""
    with serve(connecting.model_copy(update={lacking: empty})) as url:
        bare = Browser(url)
        for found in (bare.get(link), bare.press(link)):
            assert (found.status, f"POSTROOM_{lacking.upper()}" in found.text) == (503, True)
    assert browser.connect(link).title == f"{EMAIL} is connected"


def test_a_sealing_key_that_was_taken_away_is_a_page(
    connecting: Settings, browser: Browser, make_link: MakeLink, gmail: GmailControl
) -> None:
    back = browser.return_address(make_link())
    with serve(connecting.model_copy(update={"sealing_keys": SecretStr("another key")})) as url:
        found = Browser(url, browser.cookies).get(back)
    assert found.status == 503
    assert gmail.journal("oauth.token") == []


def test_what_is_too_long_is_a_page(browser: Browser, make_link: MakeLink) -> None:
    back = browser.return_address(make_link())
    found = browser.get(back.replace("code=", f"code={'x' * 3000}"))
    assert found.status == 422
    assert "for a new one" in found.text
    found = browser.press(f"{PUBLIC}/oauth/google/start?link={'x' * 5000}")
    assert found.status == 413
    assert browser.get(f"{CALLBACK}?code=1").title == "This answer does not belong to this browser"

"""Texts of strangers in a real browser: no script of theirs runs, and they break no page at the width of a phone."""

from playwright.sync_api import Page, Request
from psycopg.types.json import Jsonb

from tests.browser.chromium import PHONE
from tests.browser.conftest import PLAYERS, OpenPage
from tests.browser.stand import Stand
from tests.browser.troubles import Troubles
from tests.browser.walking import by_hand

RUNS = "window.wasRun = true"
HOSTILE = (
    f"<script>{RUNS}</script><img src=http://127.0.0.1:9/x onerror='{RUNS}'>"
    f"</textarea></pre></bdi><svg onload='{RUNS}'>"
    f'" autofocus onfocus="{RUNS}" \'\u202egnorw\u2066 \u200fא'
)
LONG = f"{HOSTILE}{'w' * 200_000}"
STRETCHED = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def poison(stand: Stand, found: Troubles) -> None:
    """Write it wherever somebody else's words are kept: as errors, payloads, subjects, senders, names and reasons."""
    error = Jsonb({"code": HOSTILE[:200], "reason": LONG})
    payload = Jsonb({HOSTILE: LONG, "account_id": stand.account_id})
    for sql, values in (
        ("update jobs set error = %s, payload = payload || %s where id = %s", (error, payload, found.job_id)),
        (
            "update dead_letters set error = %s, payload = payload || %s, reason = %s, plan = %s where id = %s",
            (error, payload, LONG, LONG, found.letter_id),
        ),
        ("update messages set subject = %s", (HOSTILE,)),
        ("update orgs set name = %s where id = %s", (HOSTILE[:200], stand.org_id)),
        ("update failure_groups set words = %s", (HOSTILE[:200],)),
    ):
        stand.database.execute(sql, values)


def stretched(page: Page) -> int:
    """By how many pixels the page is wider than the screen."""
    return int(page.evaluate(STRETCHED))


def test_no_text_of_a_stranger_runs_or_breaks_a_page(
    stand: Stand, troubles: dict[str, Troubles], open_page: OpenPage
) -> None:
    found = troubles[PLAYERS[0]]
    poison(stand, found)
    # What is escaped needs no policy of content to be harmless.
    page = open_page(viewport=PHONE, bypass_csp=True)
    asked: list[Request] = []
    page.on("request", lambda one: asked.append(one))  # noqa: PLW0108  # Playwright marks its handlers
    broken = {}
    for name, path in by_hand(stand, found).items():
        for values in ("", "show_values=yes"):
            address = f"{stand.console}{path}{'&' if '?' in path else '?'}{values}"
            answer = page.goto(address)
            assert answer is not None
            assert answer.status < 500, address
            assert not page.evaluate("window.wasRun"), address
            if by := stretched(page):
                broken[address] = (name, by)
    assert not broken
    assert all(one.url.startswith(stand.console) for one in asked)


def test_what_runs_and_what_stretches_is_noticed(open_page: OpenPage) -> None:
    page = open_page(viewport=PHONE)
    page.set_content(f"<script>{RUNS}</script><p style='width: 500px'>x")
    assert page.evaluate("window.wasRun")
    assert stretched(page) > 0

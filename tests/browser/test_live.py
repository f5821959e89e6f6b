"""What is live, and links: the keyboard stays where it was, and the page that was asked for last is shown."""

from collections.abc import Callable, Iterator
from uuid import UUID

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.stand import Stand
from tests.browser.troubles import make_letters

CODE, MANY, SLOWLY = "away.slowly", 600, 60
"""So many letters, and so many of them a minute, that the action outlives the test."""
# In one step each: between the finding of a part and what is done to it, another may take its place.
MARK = "document.getElementById('live').classList.add('seen')"
ADD_AND_FOCUS = """() => {
  const part = document.getElementById("live");
  part.insertAdjacentHTML("beforeend", "<a href=/gone>gone</a>");
  part.querySelector("a[href='/gone']").focus();
}"""


@pytest.fixture(scope="module")
def bulk_id(stand: Stand) -> Iterator[str]:
    """A bulk action at work."""
    make_letters(stand, CODE, 9, MANY)
    wish = {"verb": "replay", "error_code": CODE, "reason": "a slow look", "per_minute": SLOWLY}
    bulk_id = str(stand.door.post("/v1/bulk-actions", wish)["bulk_id"])
    yield bulk_id
    stand.door.post(f"/v1/bulk-actions/{bulk_id}/abort", {})


@pytest.fixture
def swap(stand: Stand, bulk_id: str, live_page: Page) -> Callable[[], None]:
    """Changes the bulk action, and waits until the page shows it."""

    def wait_until_swapped() -> None:
        live_page.evaluate(MARK)
        stand.database.execute("update bulk_actions set reason = reason || '.' where id = %s", (UUID(bulk_id),))
        expect(live_page.locator("#live")).not_to_contain_class("seen")

    return wait_until_swapped


@pytest.fixture
def live_page(stand: Stand, bulk_id: str, open_page: OpenPage) -> Page:
    page = open_page()
    page.goto(f"{stand.console}/bulk/show?bulk_id={bulk_id}&of_org={stand.org_id}")
    expect(page.locator("#live[data-watch]")).to_have_count(1)
    return page


def test_the_focus_stays(live_page: Page, swap: Callable[[], None]) -> None:
    link = live_page.locator('#live a[href*="bulk/abort"]')
    link.focus()
    for _ in range(2):
        swap()
        expect(link).to_be_focused()


def test_the_focus_of_what_is_gone_is_in_the_page(live_page: Page, swap: Callable[[], None]) -> None:
    live_page.evaluate(ADD_AND_FOCUS)
    swap()
    expect(live_page.locator("#main")).to_be_focused()


def test_what_was_unfolded_stays_so(live_page: Page, swap: Callable[[], None]) -> None:
    fold = live_page.locator("#live details").first
    was_open = fold.get_attribute("open") is not None
    fold.locator("summary").first.focus()
    live_page.keyboard.press("Enter")
    swap()
    assert (fold.get_attribute("open") is not None) is not was_open
    expect(fold.locator("summary").first).to_be_focused()


def test_of_two_pages_the_one_asked_for_last_is_shown(stand: Stand, open_page: OpenPage) -> None:
    page = open_page()
    page.goto(stand.console)
    slow, fast = (page.locator(f'nav a[data-key="{letter}"]') for letter in "jd")
    page.route(f"**{slow.get_attribute('href')}", lambda _: None)  # never answered
    slow.click()
    with page.expect_event("requestfailed", lambda request: "/console/jobs" in request.url):
        fast.click()
    expect(page.locator('nav a[data-key="d"][aria-current]')).to_have_count(1)

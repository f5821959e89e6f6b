"""Whoever lets no script run reads every page by hand, and goes from a letter to its job and back."""

from playwright.sync_api import expect

from tests.browser.conftest import PLAYERS, OpenPage
from tests.browser.stand import Stand
from tests.browser.troubles import Troubles
from tests.browser.walking import by_hand


def test_pages_are_read_without_script(stand: Stand, troubles: dict[str, Troubles], open_page: OpenPage) -> None:
    page, found = open_page(java_script_enabled=False), troubles[PLAYERS[0]]
    for path in by_hand(stand, found).values():
        answer = page.goto(f"{stand.console}{path}")
        assert answer is not None
        assert answer.ok, path
        expect(page.locator("main h1")).to_have_count(1)
        expect(page.locator("main :is(.empty, .cards, table, dl, section, form)")).not_to_have_count(0)


def test_the_way_from_a_letter_to_its_org_needs_no_script(
    stand: Stand, troubles: dict[str, Troubles], open_page: OpenPage
) -> None:
    page, found = open_page(java_script_enabled=False), troubles[PLAYERS[0]]
    page.goto(f"{stand.console}/deadletters?state=all")
    page.locator(f'main a.open[href*="{found.letter_id}"]').click()
    page.locator(f'main a[href*="/jobs/show?job_id={found.job_id}"]').first.click()
    expect(page.locator("h1 .badge")).to_have_count(1)
    page.locator("#org-choice").select_option(stand.org_id)
    page.locator(".org-choice button").click()
    expect(page.locator("#org-choice")).to_have_value(stand.org_id)
    page.locator("#search").fill(found.letter_id)
    page.locator("#search").press("Enter")
    page.locator(f'main a[href*="letter_id={found.letter_id}"]').first.click()
    page.locator("#theme button").click()
    expect(page.locator("html[data-theme=dark]")).to_have_count(1)

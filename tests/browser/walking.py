"""Where a person comes to at the console: the pages by hand, every page of the navigation, a thing of each list."""

from collections.abc import Iterator, Sequence

from playwright.sync_api import Page

from tests.browser.stand import Stand
from tests.browser.troubles import Troubles

FIRST_THING = "main tr[data-href] a.open"


def by_hand(stand: Stand, found: Troubles) -> dict[str, str]:
    """The addresses of the pages by hand below the console's, by the names of their pictures."""
    of_org = f"of_org={stand.org_id}"
    return {
        "overview": "",
        "jobs": "/jobs?q=state%3Adead%2Csucceeded",
        "job": f"/jobs/show?job_id={found.job_id}",
        "dead-letters": "/deadletters",
        "letter": f"/deadletters/show?letter_id={found.letter_id}",
        "mend": f"/jobs/mend?job_id={found.job_id}",
        "errors": "/failures",
        "effects-in-doubt": "/effects",
        "approval": f"/approvals/show?approval_id={found.approval_id}&{of_org}",
        "queues": "/workers",
        "close-a-queue": "/workers/close?queue=default",
        "workflow-run": f"/workflows/show?run_id={found.run_id}&{of_org}",
        "mailbox": f"/accounts/show?account_id={stand.account_id}",
        "schedules": f"/schedules?{of_org}",
        "cost": "/costs?range=7d",
        "search": f"/search/search?q={found.job_id}",
        "health": "/health",
        "bulk-preview": f"/bulk/preview?verb=replay&error_code={found.code}",
    }


def navigation(page: Page, stand: Stand) -> Sequence[str]:
    """The addresses that the navigation leads to, for the stand's org."""
    page.goto(f"{stand.console}?of_org={stand.org_id}")
    found: list[str] = page.eval_on_selector_all("nav a", "all => all.map(one => one.href)")
    return found


def walk(page: Page, addresses: Sequence[str]) -> Iterator[str]:
    """Be at each address, and after these at one thing of each list that has any."""
    things: list[str] = []
    for address in dict.fromkeys(addresses):
        page.goto(address)
        things += page.locator(FIRST_THING).first.evaluate_all("links => links.map(one => one.href)")
        yield address
    for address in dict.fromkeys(things):
        if address not in addresses:
            page.goto(address)
            yield address

"""Debian's Chromium under Playwright, and operators who sign in with it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser.stand import PASSWORD, WITHIN_S, Stand

DESK, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def running_chromium() -> Iterator[Browser]:
    """A browser without a window; raises `RuntimeError` where none is installed."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        raise RuntimeError("Chromium is not installed: apt-get install --no-install-recommends chromium")
    expect.set_options(timeout=WITHIN_S * 1000 / 3)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Browser, **options: Any) -> Iterator[BrowserContext]:  # noqa: ANN401  # Playwright's own options
    """A context of its own, at a desk unless said otherwise, without movement that a picture could catch half-way."""
    context = browser.new_context(**{"viewport": DESK, "reduced_motion": "reduce"} | options)
    context.set_default_timeout(WITHIN_S * 1000 / 3)
    try:
        yield context
    finally:
        context.close()


def use_link(page: Page, link: str) -> None:
    """Choose a password by a one-time link, and be signed in."""
    page.goto(link)
    page.locator("input[name=password]").fill(PASSWORD)
    page.locator("main button.main").click()
    page.locator("nav a[aria-current=page]").first.wait_for()


def signed_in(browser: Browser, stand: Stand, email: str) -> Any:  # noqa: ANN401  # Playwright's state of a context
    """The cookies of an operator who has used their link."""
    with opened(browser) as context:
        use_link(context.new_page(), stand.links[email])
        return context.storage_state()

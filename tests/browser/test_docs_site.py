"""The documentation's site in Chromium, opened from its files: pages, diagrams and search, without a network."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request, expect

from tests.browser.chromium import opened
from tests.house.reading import ROOT
from tests.tools.environments import python_of

DRAWN = ("explanation/life-of-a-job", "explanation/ledger-loop", "repository/index")
LEAST_PIXELS = 100
"""Of height: the text of a diagram that is not drawn, and an empty element, have less."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("site") / "site"
    subprocess.run([str(python_of("site")), "-m", "tools.docs_site", str(built)], cwd=ROOT, check=True)  # noqa: S603  # our own tool
    return built


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A page whose requests for anything but files, and whose errors, fail the test."""
    troubles: list[str] = []

    def look(request: Request) -> None:
        if not request.url.startswith(("file:", "data:", "blob:")):
            troubles.append(request.url)

    with opened(chromium) as context:
        made = context.new_page()
        made.on("request", look)
        made.on("pageerror", lambda error: troubles.append(str(error)))
        yield made
    assert troubles == []


@pytest.mark.parametrize("name", DRAWN)
def test_a_diagram_is_drawn(site: Path, page: Page, name: str) -> None:
    page.goto((site / f"{name}.html").as_uri())
    drawn = page.locator("div.mermaid").first
    drawn.wait_for()
    box = drawn.bounding_box()
    assert box is not None
    assert box["height"] > LEAST_PIXELS
    expect(page.locator("pre.mermaid")).to_have_count(0)


def test_pictures_are_shown(site: Path, page: Page) -> None:
    page.goto((site / "explanation/console-pictures.html").as_uri())
    shown = page.locator("article img")
    assert shown.count() > 10
    assert shown.evaluate_all("all => all.filter(one => one.complete && !one.naturalWidth).map(one => one.src)") == []


def test_the_search_finds_a_page_and_leads_to_it(site: Path, page: Page) -> None:
    page.goto((site / "index.html").as_uri())
    page.locator("[data-md-component=search-query]").first.fill("guard rows")
    found = page.locator(".md-search-result__link").first
    expect(found).to_contain_text("guard rows", ignore_case=True)
    found.click()
    expect(page).to_have_title("Uniqueness by guard rows - Postroom")

"""axe finds nothing serious on any page, light or dark."""

import hashlib
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from tests.browser.conftest import PLAYERS, OpenPage
from tests.browser.stand import Stand
from tests.browser.troubles import Troubles
from tests.browser.walking import by_hand, navigation, things

AXE = Path(__file__).with_name("axe-4.14.1.min.js")
"""Of `axe.min.js` in the package axe-core 4.14.1."""
DIGEST = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
SERIOUS = {"serious", "critical"}
EVERYTHING: dict[str, Any] = {"resultTypes": ["violations"]}
COLOURS: dict[str, Any] = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
"""All that a theme changes."""
RUN = """async options => {
  const found = await axe.run(document, options);
  const where = one => one.nodes.slice(0, 3).map(node => node.html.slice(0, 200)).join(" ");
  return found.violations.map(one => [one.impact, `${one.id}: ${where(one)}`]);
}"""


def faults(page: Page) -> list[str]:
    """What is serious on the page, in both themes."""
    page.evaluate(AXE.read_text())
    found: list[str] = []
    for theme, options in (("light", EVERYTHING), ("dark", COLOURS)):
        page.emulate_media(color_scheme=theme)
        found += [f"{theme}: {words}" for impact, words in page.evaluate(RUN, options) if impact in SERIOUS]
    page.emulate_media(color_scheme="light")
    return found


def test_nothing_serious_is_found_on_any_page(stand: Stand, troubles: dict[str, Troubles], open_page: OpenPage) -> None:
    page = open_page()
    addresses = [f"{stand.console}{path}" for path in by_hand(stand, troubles[PLAYERS[0]]).values()]
    areas = navigation(page, stand)
    found: dict[str, list[str]] = {}
    for address in dict.fromkeys([*addresses, *areas, *things(page, areas)]):
        page.goto(address)
        if said := faults(page):
            found[address] = said
    assert not found, "\n".join(f"{address}\n  " + "\n  ".join(said) for address, said in found.items())


def test_the_pages_of_strangers_are_sound(stand: Stand, open_page: OpenPage) -> None:
    page = open_page(storage_state=None)
    page.goto(stand.console)
    assert not faults(page)


def test_axe_can_find_something(open_page: OpenPage) -> None:
    page = open_page()
    page.set_content("<html lang=en><title>A page</title><main><h1>Here</h1><img src=x><input></main>")
    assert len(faults(page)) == 2


def test_axe_is_the_one_that_was_vendored_with_its_licence() -> None:
    assert hashlib.sha256(AXE.read_bytes()).hexdigest() == DIGEST
    assert "Mozilla Public License, version 2.0" in AXE.with_name("axe-LICENSE.txt").read_text()

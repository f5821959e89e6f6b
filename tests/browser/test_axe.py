"""axe finds nothing serious on any page, light or dark."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Page

from tests.browser.conftest import PLAYERS, OpenPage
from tests.browser.stand import Stand
from tests.browser.troubles import Troubles
from tests.browser.walking import by_hand, navigation, walk

AXE = Path(__file__).with_name("axe-4.14.1.min.js")
"""Of `axe.min.js` in the package axe-core 4.14.1."""
DIGEST = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
SERIOUS = {"serious", "critical"}
EVERYTHING: dict[str, Any] = {"resultTypes": ["violations"]}
COLOURS: dict[str, Any] = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
"""All that a theme changes."""
LOOKED_FOR: Mapping[Literal["light", "dark"], dict[str, Any]] = {"light": EVERYTHING, "dark": COLOURS}
RUN = """async options => {
  const found = await axe.run(document, options);
  const where = one => one.nodes.slice(0, 3).map(node => node.html.slice(0, 200)).join(" ");
  return found.violations.map(one => [one.impact, `${one.id}: ${where(one)}`]);
}"""

KINDS = """[...document.querySelectorAll("main *")].map(
  one => `${one.parentElement.tagName} ${one.tagName} ${one.getAttribute("class")} ${one.type ?? ""}`)"""
"""What kinds of elements a page has."""

SHORTEN = "document.querySelectorAll('tr:nth-child(n + 6)').forEach(one => one.remove())"
"""Lines after the first ones repeat these, and axe looks at each for long."""


def faults(page: Page) -> list[str]:
    """What is serious on the page, in both themes."""
    page.evaluate(AXE.read_text())
    page.evaluate(SHORTEN)
    found: list[str] = []
    for theme, options in LOOKED_FOR.items():
        page.emulate_media(color_scheme=theme)
        found += [f"{theme}: {words}" for impact, words in page.evaluate(RUN, options) if impact in SERIOUS]
    page.emulate_media(color_scheme="light")
    return found


def test_nothing_serious_is_found_on_any_page(stand: Stand, troubles: dict[str, Troubles], open_page: OpenPage) -> None:
    page = open_page()
    hand_made = [f"{stand.console}{path}" for path in by_hand(stand, troubles[PLAYERS[0]]).values()]
    found: dict[str, list[str]] = {}
    seen: set[str] = set()
    for address in walk(page, [*hand_made, *navigation(page, stand)]):
        # Pages that are derived repeat the same templates: those with something that no page before had are looked at.
        kinds = set(page.evaluate(KINDS))
        if (address in hand_made or not kinds <= seen) and (said := faults(page)):
            found[address] = said
        seen |= kinds
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

"""How a person works a page: with the mouse, or with the keyboard alone."""

from typing import Protocol

from playwright.sync_api import Locator, Page, expect

MOST_TABS = 300
"""Presses of Tab until something is reached; a page has fewer stops."""
WHERE = """element => {
  const focused = document.activeElement;
  return element === focused ? "there" : focused.matches("a.skip") && element.closest("main") ? "at the skip link" : "";
}"""


class Hand(Protocol):
    """What a person does to a page."""

    def go(self, letter: str) -> None:
        """Open the page that the navigation has under a letter."""

    def press(self, target: Locator) -> None:
        """Press a link, a button or a line."""

    def write(self, target: Locator, text: str) -> None:
        """Write into a field, in the place of what it says; of a list, choose the entry that begins so."""


class Mouse:
    """A person who clicks."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def go(self, letter: str) -> None:
        self.page.locator(f'nav a[data-key="{letter}"]').click()

    def press(self, target: Locator) -> None:
        target.click()

    def write(self, target: Locator, text: str) -> None:
        if target.evaluate("element => element.tagName") == "SELECT":
            target.select_option(text)
            return
        target.click()
        target.fill(text)


class Keys:
    """A person who never touches the mouse: Tab until the thing has the focus, then Enter."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def go(self, letter: str) -> None:
        self.page.keyboard.press("g")
        self.page.keyboard.press(letter)

    def press(self, target: Locator) -> None:
        self._reach(target)
        self.page.keyboard.press("Enter")

    def write(self, target: Locator, text: str) -> None:
        self._reach(target)
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.type(text)

    def _reach(self, target: Locator) -> None:
        expect(target).to_be_visible()
        for _ in range(MOST_TABS):
            where = target.evaluate(WHERE)
            if where == "there":
                return
            self.page.keyboard.press("Enter" if where else "Tab")
        raise AssertionError(f"{target} is not reached by {MOST_TABS} presses of Tab")

"""One fleet and one Chromium for all tests of the console in a browser."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page

from tests.browser.chromium import opened, running_chromium, signed_in
from tests.browser.stand import OPERATORS, Stand, running_stand
from tests.browser.troubles import Troubles, make_troubles

PLAYERS = ("mouse", "keys")
ADDRESSES = dict(zip(PLAYERS, OPERATORS, strict=True))
MAILS, MANY = 12, 5_000

ABORTED = ("htmx:afterRequest,", "htmx:sendAbort,")

OpenPage = Callable[..., Page]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with running_chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def stand(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    """A fleet; not without a browser, for it takes long to start."""
    assert chromium.is_connected()
    with running_stand(tmp_path_factory.mktemp("stand"), print, MAILS) as made:
        yield made


@pytest.fixture(scope="session")
def troubles(stand: Stand) -> dict[str, Troubles]:
    return make_troubles(stand, PLAYERS, MANY)


@pytest.fixture(scope="session")
def sessions(chromium: Browser, stand: Stand) -> dict[str, object]:
    """The cookies of each player who has signed in by a one-time link."""
    return {player: signed_in(chromium, stand, email) for player, email in ADDRESSES.items()}


def is_complaint(said: ConsoleMessage) -> bool:
    """Whether a page has said that something is wrong: that a later link took the place of an earlier one is not."""
    return said.type == "error" and not said.text.startswith(ABORTED)


@pytest.fixture
def open_page(chromium: Browser, sessions: dict[str, object]) -> Iterator[OpenPage]:
    """Opens a page of a player; what its scripts and its policy complain about fails the test."""
    complaints: list[str] = []
    with ExitStack() as stack:

        def open_it(player: str = PLAYERS[0], **options: object) -> Page:
            context = stack.enter_context(opened(chromium, **{"storage_state": sessions[player]} | options))
            page = context.new_page()
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("console", lambda said: complaints.append(said.text) if is_complaint(said) else None)
            return page

        yield open_it
    assert not complaints

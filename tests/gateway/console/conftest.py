"""A gateway with an operator, and browsers for it."""

from collections.abc import Callable, Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from gateway.app import create_app
from settings import Settings
from storage.postgres.database import Database
from tests.gateway.console.people import PUBLIC, Browser, add_operator, add_pages

ADA = "ada@example.org"


@pytest.fixture
def console(settings: Settings) -> FastAPI:
    """The application under its public address, with pages of the test."""
    app = create_app(settings.model_copy(update={"public_url": PUBLIC}))
    add_pages(app)
    return app


@pytest.fixture
def open_browser(console: FastAPI) -> Iterator[Callable[[], Browser]]:
    """A browser without cookies; all of them ask one gateway."""
    with TestClient(console, base_url=PUBLIC, follow_redirects=False):
        yield lambda: Browser(TestClient(console, base_url=PUBLIC, follow_redirects=False))


@pytest.fixture
def browser(open_browser: Callable[[], Browser]) -> Browser:
    return open_browser()


@pytest.fixture
def ada(store: Database, browser: Browser) -> Browser:
    """The browser of an admin who has signed in."""
    assert browser.use(add_operator(store, ADA)).status_code == 303
    return browser

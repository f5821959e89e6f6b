"""A gateway with an operator, and browsers for it."""

from collections.abc import Callable, Iterator
from uuid import UUID

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from domain.orgs.access.operators import OperatorRole
from engine.runtime import Runtime
from gateway.app import create_app
from settings import Settings
from storage.postgres.database import Database
from tests.gateway.console.people import PUBLIC, Browser, add_operator, add_pages
from tests.gateway.console.signed import SignedBrowser, signed_cookie
from tests.gateway.serving import serve

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


SignIn = Callable[..., SignedBrowser]


@pytest.fixture
def served(settings: Settings, process: Runtime) -> Iterator[str]:
    """The URL of a serving gateway whose fleet has published its catalogue."""
    assert process.database is not None
    with serve(settings.model_copy(update={"public_url": "http://127.0.0.1"})) as url:
        yield url


@pytest.fixture
def sign_in(store: Database, served: str) -> SignIn:
    """Signs a new operator in, of all orgs or of these."""

    def signed(role: OperatorRole = OperatorRole.ADMIN, *org_ids: UUID) -> SignedBrowser:
        return SignedBrowser(served, signed_cookie(store, role, *org_ids))

    return signed


@pytest.fixture
def admin(sign_in: SignIn) -> SignedBrowser:
    return sign_in()

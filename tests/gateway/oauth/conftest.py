"""The gateway and Google's consent screen, and a link for one owner's mailbox."""

from collections.abc import Callable, Iterator

import pytest
from pydantic import SecretStr

from domain.jobs.job import ActorType, Origin
from domain.mail.consent import link_address
from sandbox.emulator.control import GmailControl
from settings import Settings
from storage.jobs import job_types
from storage.mail.accounts import accounts, consents
from storage.mail.accounts.consents import ConsentWish
from storage.postgres.database import Database
from tasks.mail.accounts import onboard
from tasks.mail.gmail import sync
from tests.gateway.oauth.browser import CALLBACK, PUBLIC, Browser
from tests.gateway.serving import serve

EMAIL = "anna@example.com"
ORG = "Acme"
CLIENT_ID, CLIENT_SECRET = "client-1", "client-secret-of-the-test"

OPERATOR = Origin(ActorType.USER, "operator:ada")

MakeLink = Callable[..., str]


@pytest.fixture
def connecting(settings: Settings, gmail: GmailControl) -> Settings:
    """Settings of a gateway that is registered with the emulator."""
    gmail.register_client(CLIENT_ID, CLIENT_SECRET, CALLBACK)
    gmail.create_account(EMAIL, "access-1", "refresh-1")
    return settings.model_copy(
        update={
            "public_url": PUBLIC,
            "google_url": gmail.url,
            "google_client_id": CLIENT_ID,
            "google_client_secret": SecretStr(CLIENT_SECRET),
            "google_request_timeout_s": 2.0,
        }
    )


@pytest.fixture
def door(connecting: Settings, store: Database) -> Iterator[str]:
    """A serving gateway; its URL."""
    with store.ledger() as tx:
        job_types.publish(tx, [sync.line(), onboard.line()])
    with serve(connecting) as url:
        yield url


@pytest.fixture
def browser(door: str) -> Browser:
    return Browser(door)


@pytest.fixture
def make_link(store: Database) -> MakeLink:
    """Make a link as the command line does."""

    def make(email: str = EMAIL, org: str = ORG, *, deletes: bool = False) -> str:
        with store.ledger() as tx:
            org_id = accounts.ensure_org(tx, org)
            link = consents.make_link(tx, org_id, ConsentWish(email, email, deletes), by=OPERATOR)
        return link_address(PUBLIC, link.secret)

    return make

"""The gateway between Gmail's emulator, which pushes and publishes certificates, and this test's database."""

from collections.abc import Iterator

import pytest

from sandbox.emulator.control import GmailControl
from sandbox.google.gmail import gmail_emulator
from sandbox.oidc.oidc import OidcControl, oidc_emulator
from settings import Settings
from storage.jobs import job_types
from storage.postgres.database import Database
from tasks.mail.gmail import sync
from tests.gateway.mailboxes import AUDIENCE, PUSHER
from tests.gateway.serving import serve, shared_database
from tests.servers.servers import SessionServers


@pytest.fixture(scope="module")
def shared_settings(servers: SessionServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Of one database and store for the tests of a module, of which each has orgs of its own."""
    with shared_database(servers, tmp_path_factory.mktemp("artifacts")) as made:
        yield made


@pytest.fixture(scope="module")
def shared_store(shared_settings: Settings) -> Iterator[Database]:
    """The product's own access to that database."""
    store = Database(shared_settings)
    yield store
    store.dispose()


@pytest.fixture
def gmail() -> Iterator[GmailControl]:
    with gmail_emulator() as emulator:
        yield GmailControl(emulator.url)


@pytest.fixture
def pushing(settings: Settings, gmail: GmailControl) -> Settings:
    """Settings of a gateway that believes the emulator's certificates."""
    return settings.model_copy(
        update={
            "google_url": gmail.url,
            "pubsub_audience": AUDIENCE,
            "pubsub_service_account": PUSHER,
        }
    )


@pytest.fixture
def sync_type(store: Database) -> str:
    """What the workers tell the ledger of `gmail.sync`."""
    with store.ledger() as tx:
        job_types.publish(tx, [sync.line()])
    return sync.name


@pytest.fixture
def gateway(pushing: Settings, gmail: GmailControl, sync_type: str) -> Iterator[str]:
    """A serving gateway that the emulator pushes to; its URL."""
    assert sync_type == "gmail.sync"
    with serve(pushing) as url:
        gmail.configure_push(f"{url}/webhooks/gmail", AUDIENCE, service_account=PUSHER)
        yield url


@pytest.fixture
def provider() -> Iterator[OidcControl]:
    """An OpenID Connect provider, at whose screen Ada is."""
    with oidc_emulator() as emulator:
        control = OidcControl(emulator.url)
        control.set_person("ada@example.org")
        yield control

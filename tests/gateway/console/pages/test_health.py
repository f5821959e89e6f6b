"""Health leads from what is wrong, and from each alert, to the page that says what to do."""

from domain.jobs.monitoring.runbooks import ALERTS, runbook_of
from domain.orgs.access.operators import OperatorRole
from engine.runtime import Runtime
from settings import Settings
from storage.postgres.database import Database
from tests.gateway.console.signed import SignedBrowser, signed_cookie
from tests.gateway.serving import serve

PATTERN = "https://docs.example.org/{alert}/"


def test_health_names_the_page_of_each_alert_and_of_what_is_wrong(admin: SignedBrowser, settings: Settings) -> None:
    text = admin.text("/health")
    assert [alert for alert in ALERTS if runbook_of(alert, settings.runbook_url) not in text] == []
    assert text.count("docs/runbooks/PostroomBeatSilent.md") == 2, "at the finding, and in the list"


def test_health_links_the_pages_where_they_are_served(settings: Settings, process: Runtime, store: Database) -> None:
    assert process
    with serve(settings.model_copy(update={"public_url": "http://127.0.0.1", "runbook_url": PATTERN})) as url:
        text = SignedBrowser(url, signed_cookie(store, OperatorRole.ADMIN)).text("/health")
    linked = [f'<a href="{runbook_of(alert, PATTERN)}" rel="noreferrer">' for alert in ALERTS]
    assert [link for link in linked if link not in text] == []

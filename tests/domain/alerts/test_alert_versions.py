"""An alert of a kind that the release before does not know waits for a newer worker in a rolling deploy."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from domain.alerts.alert import Alert, AlertKind, payload_of
from domain.payloads.deadletter import SendAlertPayload

KINDS_OF_VERSION_1 = {"dead_letter", "dead_letters", "consent", "provider", "effects"}


@pytest.mark.parametrize("kind", AlertKind)
def test_an_alert_of_a_newer_kind_has_a_version_that_the_release_before_gives_back(kind: AlertKind) -> None:
    payload = payload_of(Alert(kind, str(uuid4()), datetime.now(UTC)))
    version = payload.declaration.version
    assert version > 1 or str(kind) in KINDS_OF_VERSION_1


def test_an_alert_of_the_release_before_is_still_read() -> None:
    document = {"kind": "consent", "subject": "x", "since": "2026-11-25T09:00:00Z"}
    assert SendAlertPayload.accept(document, 1).payload["kind"] == "consent"

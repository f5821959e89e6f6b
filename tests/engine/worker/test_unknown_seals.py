"""A worker says at its start that it was not given every sealing key."""

from datetime import UTC, datetime, timedelta

from psycopg import Connection
from pydantic import SecretStr
from structlog.testing import capture_logs

from engine.runtime import Runtime
from engine.worker.worker import report_unknown_seals
from storage.mail.accounts.accounts import Consent
from storage.orgs.secrets.sealing import Sealer
from tests.doubles.mail_factories import connect_account


def test_a_worker_reports_the_mailboxes_that_it_cannot_open(process: Runtime) -> None:
    consent = Consent(SecretStr("access"), SecretStr("refresh"), datetime.now(UTC) + timedelta(hours=1))
    with process.database.ledger() as tx:
        connect_account(tx, process.sealer, "acme", "reader@example.com", consent)
    with capture_logs() as quiet:
        report_unknown_seals(process)
    with process.database.ledger() as tx:
        connect_account(tx, Sealer(["another key"]), "acme", "writer@example.com", consent)
    with capture_logs() as logs:
        report_unknown_seals(process)
    assert quiet == []
    (said,) = logs
    assert "POSTROOM_SEALING_KEYS" in said.pop("remedy")
    assert said == {"event": "sealing_keys_missing", "log_level": "error", "mailboxes": 1, "org_secrets_count": 0}


def test_a_worker_that_cannot_find_out_begins_all_the_same(process: Runtime, database: Connection) -> None:
    database.execute("revoke select on org_secrets from postroom_ledger")
    with capture_logs() as logs:
        report_unknown_seals(process)
    assert [(one["event"], one["log_level"]) for one in logs] == [("sealing_keys_not_compared", "warning")]

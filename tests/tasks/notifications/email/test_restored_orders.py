"""A mail that left after the moment to which the ledger was restored does not leave once more."""

from uuid import UUID

import pytest
from psycopg import Connection

from domain.notifications.sender import EmailProvider
from engine.runtime import Runtime
from sandbox.microsoft.control import MicrosoftControl
from sandbox.resend.control import ResendControl
from tasks.notifications import email
from tests.doubles.email_orders import MAILBOX, order, set_sender
from tests.doubles.inline_worker import run_job
from tests.servers.backup import back_up


@pytest.mark.parametrize("provider", list(EmailProvider))
@pytest.mark.parametrize("has_left", [True, False])
def test_an_order_leaves_once(
    provider: EmailProvider,
    process: Runtime,
    org: UUID,
    database: Connection,
    resend: ResendControl,
    microsoft: MicrosoftControl,
    *,
    has_left: bool,
) -> None:
    set_sender(process, org, provider)
    _, job_id = order(process, org)
    backup = back_up(database)
    if has_left:
        assert run_job(process, email.send, job_id) == "succeeded"
    backup.restore(process)
    assert run_job(process, email.send, job_id) == "succeeded"
    assert len([*resend.emails(), *microsoft.sent(MAILBOX)]) == 1

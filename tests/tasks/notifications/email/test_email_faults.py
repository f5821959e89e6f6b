"""Whatever goes wrong with a vendor, each order is in its journal at most once, and in the end exactly once."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import count
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as bounds
from hypothesis import strategies as st
from psycopg import Connection

from domain.notifications.sender import EmailProvider
from engine.runtime import Runtime
from engine.worker.lease import renew
from sandbox.emulator.fault_order import FaultOrder
from sandbox.microsoft.control import MicrosoftControl
from sandbox.resend.control import ResendControl
from tasks.notifications import email
from tests.doubles.email_orders import MAILBOX, order, set_sender
from tests.doubles.factories import pass_time
from tests.doubles.inline_worker import run_job

OPERATIONS = {
    EmailProvider.RESEND: ["emails.send"],
    EmailProvider.GRAPH: ["login.token", "messages.create", "messages.send", "messages.list", "messages.get"],
}
WRONG = [
    FaultOrder(drop="before"),
    FaultOrder(drop="after"),
    FaultOrder(status=500),
    FaultOrder(status=504, after_execution=True),
    FaultOrder(status=503, headers={"Retry-After": "30"}),
    FaultOrder(status=429, reason="rate_limit_exceeded", headers={"Retry-After": "1"}),
    FaultOrder(ending="cut"),
    FaultOrder(text="a proxy's page"),
]
MOST_RUNS = 12
numbers = count()


def faults(provider: EmailProvider) -> st.SearchStrategy[list[FaultOrder]]:
    one = st.builds(
        lambda wrong, operation, skip: replace(wrong, operation=operation, skip=skip),
        st.sampled_from(WRONG), st.sampled_from(OPERATIONS[provider]), st.integers(0, 1),
    )  # fmt: skip
    return st.lists(one, max_size=3)


@pytest.mark.parametrize("provider", list(EmailProvider))
@bounds(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_each_order_leaves_at_most_once_and_finally_once(
    provider: EmailProvider,
    data: st.DataObject,
    process: Runtime,
    org: UUID,
    database: Connection,
    resend: ResendControl,
    microsoft: MicrosoftControl,
) -> None:
    vendor = resend if provider is EmailProvider.RESEND else microsoft
    vendor.clear_faults()
    set_sender(process, org, provider)
    subject = f"order {next(numbers)}"
    for one in data.draw(faults(provider)):
        vendor.order(one)
    _, job_id = order(process, org, subject=subject)
    database.execute("update jobs set max_attempts = 50")
    ends: list[str] = []
    while len(ends) < MOST_RUNS and ends[-1:] != ["succeeded"]:
        ends.append(run_job(process, email.send, job_id))
        assert len(left(subject, resend, microsoft)) <= 1
        pass_time(database, timedelta(minutes=2))
        renew(process)
    assert ends[-1:] == ["succeeded"], ends
    assert len(left(subject, resend, microsoft)) == 1


def left(subject: str, resend: ResendControl, microsoft: MicrosoftControl) -> Sequence[object]:
    """The mails of that subject that have left."""
    return [one for one in (*resend.emails(), *microsoft.sent(MAILBOX)) if one["subject"] == subject]

"""A rework whose draft was touched is followed by another, which is ordered by what ordered the first one."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from domain.jobs.job import Origin
from domain.mail.correspondence import EmailState
from domain.mail.replies.drafting import DRAFT_TOOL
from operations.jobs import replays
from sandbox.emulator.control import MessagePlace
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.meanwhile import Meanwhile
from tests.tasks.mail.drafts.reworks import FIRST, draft_id, drafted, put_rework, rework_job
from tests.tasks.mail.drafts.test_orders_by_hand import answers, drafts, put
from tests.tasks.mail.drafts.test_withdrawn_orders import see, withdraw

Rework = Callable[[MailEnvironment, MessagePlace, UUID, Meanwhile], None]


def edit(env: MailEnvironment, place: MessagePlace) -> None:
    env.mailbox.edit_draft(draft_id(env, place), text=f"In French.\n\n{FIRST}")


def touched(env: MailEnvironment, place: MessagePlace, job_id: UUID, meanwhile: Meanwhile) -> None:
    """Its person touches the draft while the model writes."""
    meanwhile(DRAFT_TOOL, lambda: edit(env, place))
    assert env.run(job_id) == "succeeded"


def replayed(env: MailEnvironment, place: MessagePlace, job_id: UUID, _: Meanwhile) -> None:
    """An operator's retry has words from the model that were asked for by another message of the draft."""
    env.fail("drafts.update", status=403, reason="domainPolicy")
    assert env.run(job_id) == "failed"
    env.pass_hour()
    edit(env, place)
    with env.process.database.ledger() as tx:
        again = replays.retry(tx, job_id, by=Origin(actor_id="a test"), reason="it is mended")
    assert env.run(again) == "succeeded"


def queued(env: MailEnvironment) -> list[dict[str, Any]]:
    rows = env.database.execute("select payload from jobs where job_type = 'drafts.rework' and state = 'queued'")
    return [payload for (payload,) in rows]


@pytest.mark.parametrize("rework", [touched, replayed])
def test_the_follow_up_of_a_labels_order_is_the_labels_too_and_there_is_one(
    env: MailEnvironment, meanwhile: Meanwhile, rework: Rework
) -> None:
    place = drafted(env)
    put_rework(env, place)
    rework(env, place, rework_job(env), meanwhile)
    assert [one.get("by_label") for one in queued(env)] == [True]
    withdraw(env, place, "Rework")
    put(env, place, "Rework")
    see(env)
    assert len(queued(env)) == 1


def test_the_follow_up_of_a_services_order_is_the_services_too(env: MailEnvironment, meanwhile: Meanwhile) -> None:
    place = drafted(env)
    put_rework(env, place)
    rework_job(env)
    env.database.execute("delete from jobs where job_type = 'drafts.rework'")
    touched(env, place, env.enqueue("drafts.rework", {"thread_id": place.thread_id}), meanwhile)
    assert [one.get("by_label", False) for one in queued(env)] == [False]


@pytest.mark.parametrize("is_taken_back", [True, False])
def test_the_first_draft_that_a_follow_up_orders_is_taken_back_with_the_label(
    env: MailEnvironment, meanwhile: Meanwhile, *, is_taken_back: bool
) -> None:
    """The draft that was to be reworked is thrown away meanwhile, and another ordered."""
    place = drafted(env)
    put_rework(env, place)
    touched(env, place, rework_job(env), meanwhile)
    env.mailbox.discard_draft(draft_id(env, place))
    see(env, "threads.%")
    env.database.execute("update expected_writes set created_at = created_at - interval '2 minutes'")
    put(env, place, "Rework")
    env.drain(only="drafts.rework")
    paid = answers(env)
    if is_taken_back:
        withdraw(env, place, "Rework")
    env.drain()
    expected = (0, 0, EmailState.SKIPPED) if is_taken_back else (1, 1, EmailState.DRAFTED)
    assert (drafts(env), answers(env) - paid, env.state(place.thread_id)) == expected

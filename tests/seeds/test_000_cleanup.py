"""`cleanup`: what its payload names, and where the thread comes from without (docs: seeds.md#000-job-types)."""

from uuid import UUID

import pytest

from domain.mail.correspondence import EmailState
from sandbox.emulator.control import MessagePlace
from tests.doubles.mail_environment import MailEnvironment
from tests.tasks.drafts.reworks import draft_id, drafted


def cleaned_up(env: MailEnvironment, payload: dict[str, str]) -> UUID:
    job_id = env.enqueue("cleanup", payload)
    env.drain()
    assert env.job(job_id)["state"] == "succeeded"
    return job_id


@pytest.mark.parametrize(("action", "state"), [("done", EmailState.ARCHIVED), ("check_sent", EmailState.SKIPPED)])
def test_the_payload_names_thread_and_action(env: MailEnvironment, action: str, state: EmailState) -> None:
    """000-20."""
    place = drafted(env)
    env.mailbox.discard_draft(draft_id(env, place))
    cleaned_up(env, {"thread_id": place.thread_id, "action": action})
    assert env.state(place.thread_id) is state


def names_of(env: MailEnvironment, place: MessagePlace) -> list[dict[str, str]]:
    email = env.email(place.thread_id)
    return [
        {"email_id": str(email.email_id)},
        {"message_id": place.message_id},
        {"message_id": email.draft_message_id or ""},
    ]


@pytest.mark.parametrize("number", range(3), ids=["record", "message", "draft's message"])
def test_the_thread_is_resolved_from_the_database(env: MailEnvironment, number: int) -> None:
    """000-72, 000-73: the thread is missing from the payload, as from that of a deletion record."""
    place = drafted(env)
    named = names_of(env, place)[number]
    env.mailbox.discard_draft(draft_id(env, place))
    cleaned_up(env, {**named, "action": "check_sent"})
    assert env.state(place.thread_id) is EmailState.SKIPPED

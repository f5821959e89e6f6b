"""`rework`: draft regeneration based on user feedback (docs: seeds.md#000-job-types)."""

import json

import pytest

from domain.mail.correspondence import EmailState
from tests.doubles.mail_environment import MailEnvironment
from tests.tasks.drafts.reworks import FIRST, draft_id, drafted, labels_of, only_draft, prompts, rework, words


def test_the_rework_label_leads_to_a_rework_job(env: MailEnvironment) -> None:
    """000-23, 000-38: triggered by the Rework label."""
    place = drafted(env)
    env.mailbox.label_thread(place.thread_id, add=(env.label("Rework"),))
    assert ("drafts.rework", "succeeded") in env.sync()
    assert "Postroom/Rework" not in labels_of(env, place)


@pytest.mark.parametrize("with_record", [True, False])
def test_the_payload_names_the_thread_and_perhaps_the_email(env: MailEnvironment, with_record: bool) -> None:
    """000-24: thread_id, email_id?, under the seed's name of the job."""
    place = drafted(env)
    env.mailbox.label_thread(place.thread_id, add=(env.label("Rework"),))
    payload = {"thread_id": place.thread_id}
    if with_record:
        payload["email_id"] = str(env.email(place.thread_id).email_id)
    assert env.run(env.enqueue("rework", payload)) == "succeeded"
    assert env.email(place.thread_id).rework_count == 1


def test_the_instructions_are_read_from_the_draft_and_the_draft_is_regenerated(env: MailEnvironment) -> None:
    """000-25, 000-27, 000-88: the model gets the old draft and the feedback; a new draft, rework_count + 1."""
    place = drafted(env)
    old = only_draft(env)[0]
    env.mailbox.edit_draft(draft_id(env, place), text=f"Say it in three words.\n\n{FIRST}")
    rework(env, place, body="Yes, with pleasure.")
    new = only_draft(env)[0]
    assert words(env) == "Yes, with pleasure."
    assert new["message_id"] != old["message_id"]
    assert new["thread_id"] == place.thread_id
    assert (env.state(place.thread_id), env.email(place.thread_id).rework_count) == (EmailState.DRAFTED, 1)


def test_after_three_the_limit_moves_the_email_to_action_required(env: MailEnvironment) -> None:
    """000-26, 000-74, 000-77: at most 3, tracked in emails.rework_count; then Action Required and skipped."""
    place = drafted(env)
    for number in range(1, 4):
        rework(env, place, body=f"Version {number}.")
        row = env.database.execute("select rework_count from emails").fetchone()
        assert json.dumps(row) == f"[{number}]"
    env.mailbox.label_thread(place.thread_id, add=(env.label("Rework"),))
    env.sync()
    assert prompts(env) == 3
    assert env.state(place.thread_id) is EmailState.SKIPPED
    assert labels_of(env, place) == {"Postroom/Action Required"}
    assert words(env) == "Version 3."

"""`manual_draft`: user-initiated draft for manually labelled e-mails (docs: seeds.md#000-job-types)."""

from domain.mail.correspondence import EmailState
from tests.doubles.mail_environment import MailEnvironment
from tests.tasks.drafts.reworks import drafted, labels_of, only_draft
from tests.tasks.drafts.test_by_hand import ask_by_hand, skipped


def test_needs_response_by_hand_leads_to_a_draft(env: MailEnvironment) -> None:
    """000-28, 000-30, 000-39: triggered by the label; processed as a draft job."""
    place = skipped(env)
    assert ask_by_hand(env, place) == [("drafts.write_manual", "succeeded")]
    draft, message = only_draft(env)
    assert draft["thread_id"] == place.thread_id
    assert message["In-Reply-To"] == "<note@example.com>"
    assert env.state(place.thread_id) is EmailState.DRAFTED
    assert labels_of(env, place) == {"Postroom/Outbox"}


def test_the_payload_names_the_thread(env: MailEnvironment) -> None:
    """000-29: thread_id, under the seed's name of the job."""
    place = skipped(env)
    assert env.run(env.enqueue("manual_draft", {"thread_id": place.thread_id})) == "succeeded"
    assert env.state(place.thread_id) is EmailState.DRAFTED


def test_a_drafted_thread_is_skipped(env: MailEnvironment) -> None:
    """000-31, 000-75."""
    place = drafted(env)
    before = env.email(place.thread_id)
    assert env.run(env.enqueue("manual_draft", {"thread_id": place.thread_id})) == "succeeded"
    assert env.email(place.thread_id) == before
    assert len(env.mailbox.state().drafts) == 1


def test_a_missing_record_is_made(env: MailEnvironment) -> None:
    """000-31, 000-75."""
    place = skipped(env)
    env.database.execute("delete from emails")
    ask_by_hand(env, place)
    assert env.state(place.thread_id) is EmailState.DRAFTED

"""Syncing a mailbox against the emulator, with Gmail's own traps (docs: gmail.md#history)."""

from domain.mail.correspondence import EmailState
from tests.doubles.mail_environment import MailEnvironment


def test_a_question_is_taken_in_classified_and_drafted(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver(
        "Lunch on Friday?", "Could you tell me whether you can make it at noon on Friday? Please reply."
    )
    ends = env.sync(reason="push")
    assert [end for end in ends if end[1] != "succeeded"] == []
    assert [job for job, _ in ends] == ["gmail.sync", "gmail.ingest", "triage.classify", "drafts.write"]
    email = env.email(place.thread_id)
    assert email.state is EmailState.DRAFTED
    assert email.draft_id is not None
    state = env.mailbox.state()
    assert len(state.drafts) == 1
    assert "Postroom/Outbox" in state.label_names(place.message_id)
    assert "Postroom/Needs Response" not in state.label_names(place.message_id)


def test_the_sent_draft_is_seen(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Lunch on Friday?", "Could you tell me whether you can make it at noon? Please reply.")
    env.sync()
    draft_id = env.email(place.thread_id).draft_id
    assert draft_id is not None
    env.mailbox.send_draft(draft_id)
    env.sync()
    assert env.state(place.thread_id) is EmailState.SENT
    assert "Postroom/Outbox" not in env.mailbox.state().label_names(place.message_id)

"""Syncing a mailbox against the emulator, with Gmail's own traps (docs: gmail.md#history)."""

from domain.mail.correspondence import EmailState
from tests.doubles.worlds import World


def test_a_question_is_taken_in_classified_and_drafted(world: World) -> None:
    world.sync()
    place = world.deliver(
        "Lunch on Friday?", "Could you tell me whether you can make it at noon on Friday? Please reply."
    )
    ends = world.sync(reason="push")
    assert [end for end in ends if end[1] != "succeeded"] == []
    assert [job for job, _ in ends] == ["gmail.sync", "gmail.ingest", "triage.classify", "drafts.write"]
    email = world.email(place.thread_id)
    assert email.state is EmailState.DRAFTED
    assert email.draft_id is not None
    state = world.mailbox.state()
    assert len(state.drafts) == 1
    assert "Postroom/Outbox" in state.label_names(place.message_id)
    assert "Postroom/Needs Response" not in state.label_names(place.message_id)


def test_the_sent_draft_is_seen(world: World) -> None:
    world.sync()
    place = world.deliver("Lunch on Friday?", "Could you tell me whether you can make it at noon? Please reply.")
    world.sync()
    draft_id = world.email(place.thread_id).draft_id
    assert draft_id is not None
    world.mailbox.send_draft(draft_id)
    world.sync()
    assert world.state(place.thread_id) is EmailState.SENT
    assert "Postroom/Outbox" not in world.mailbox.state().label_names(place.message_id)

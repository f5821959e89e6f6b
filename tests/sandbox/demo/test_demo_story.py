"""The story as data: its messages exist, and each has a predicted end."""

from collections import Counter

from sandbox.demo.letters import LETTERS
from sandbox.demo.mailbox_story import OWNER, read_story
from sandbox.demo.predictions import predict
from sandbox.demo.steps.drafts import Send
from sandbox.demo.steps.labels import MarkDone
from sandbox.demo.story import FIRST_SYNC, STEPS, WAVE, predicted_endings, split_story, whole_story


def test_the_story_is_told_whole_and_in_order() -> None:
    first, waves = split_story()
    rest = list(waves)
    assert len(first) == FIRST_SYNC
    assert {len(wave) for wave in rest} == {WAVE}
    files = [one.story.file for one in first] + [one.story.file for wave in rest for one in wave]
    assert files == [one.story.file for one in whole_story()]


def test_every_step_is_about_messages_of_the_story_and_no_two_about_one() -> None:
    names = [name for step in STEPS for name in step.targets]
    assert set(names) <= {one.file for one in read_story()} | {one.name for one in LETTERS}
    assert {name: times for name, times in Counter(names).items() if times > 1} == {}


def test_every_kind_of_step_that_the_issue_names_is_in_the_story() -> None:
    assert {
        "a draft is sent", "a draft is reworked", "a snooze comes back", "an action is undone", "an agent at work",
        "attacks on an obedient model", "a forward waits for approval", "a forward is approved on Discord",
        "a workflow: the brief of the day",
    } <= {step.title for step in STEPS}  # fmt: skip


def test_every_message_has_a_predicted_end() -> None:
    predicted = predicted_endings()
    assert set(predicted) == {one.file for one in read_story()} | {one.name for one in LETTERS}
    assert set(predicted.values()) == {"drafted", "skipped", "sent", "archived"}


def test_a_step_decides_the_end_of_its_whole_thread() -> None:
    thread = [one for one in read_story() if one.thread == "sorting"]
    alone = next(one for one in read_story() if one.thread is None)
    predicted = predict([*thread, alone], LETTERS[:1], [Send(thread[0].file), MarkDone(LETTERS[0].name)])
    assert {predicted[one.file] for one in thread} == {"sent"}
    assert (predicted[alone.file], predicted[LETTERS[0].name]) == (alone.ends, "archived")


def test_a_letter_is_addressed_to_the_owner_with_an_id_of_its_own() -> None:
    raws = [letter.raw(OWNER) for letter in LETTERS]
    assert all(f"To: {OWNER}".encode() in raw for raw in raws)
    ids = {line for raw in raws for line in raw.splitlines() if line.startswith(b"Message-ID: ")}
    assert len(ids) == len(LETTERS)

"""Gmail's history and its traps (docs: gmail.md#history), each against the emulator."""

from sandbox.emulator.control import MessagePlace
from tests.doubles.worlds import World, taken_in

QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."


def test_ids_are_compared_as_numbers_over_a_power_of_ten(world: World) -> None:
    world.sync()
    first = world.cursor()
    places = []
    for number in range(14):
        places.append(world.deliver(f"Note {number}", "For your information only."))
        world.sync()
    last = world.cursor()
    assert first is not None
    assert last is not None
    assert first < 1_000_000 < last == world.mailbox.state().history_id
    assert taken_in(world) == {place.message_id for place in places}


def test_what_history_says_twice_is_done_once(world: World) -> None:
    world.sync()
    world.deliver("Lunch?", QUESTION)
    ends = world.sync()
    assert [job for job, _ in ends].count("gmail.ingest") == 1


def test_a_page_without_history_is_not_the_last(world: World) -> None:
    world.sync()
    place = world.deliver("Lunch?", QUESTION)
    world.mailbox.blank_history_pages(1)
    world.sync()
    assert place.message_id in taken_in(world)


def test_a_deleted_cursor_is_answered_with_a_full_sync_that_loses_nothing(world: World) -> None:
    world.sync()
    known = world.deliver("Known", "For your information only.")
    world.sync()
    missed = [world.deliver(f"Missed {number}", QUESTION) for number in range(3)]
    world.mailbox.expire_history()
    ends = world.sync()
    assert taken_in(world) == {known.message_id, *(place.message_id for place in missed)}
    assert [job for job, _ in ends].count("gmail.ingest") == len(missed)
    assert world.sync() == [("gmail.sync", "succeeded")]
    assert world.cursor() == world.mailbox.state().history_id


def test_mail_that_comes_during_the_full_sync_is_not_lost(world: World) -> None:
    world.sync()
    world.deliver("Before", "For your information only.")
    world.mailbox.expire_history()
    late: list[MessagePlace] = []
    real_clock = world.process.clock

    def clock() -> object:
        if world.gmail.journal("getProfile", since=begun) and not late:
            late.append(world.deliver("Late", QUESTION, hidden_searches=99))
        return real_clock()

    begun = world.gmail.journal()[-1].sequence
    world.process.clock = clock  # type: ignore[assignment] # it returns what the real one does
    world.sync()
    world.process.clock = real_clock
    operations = [call.operation for call in world.gmail.journal(since=begun)]
    assert operations.index("getProfile") < operations.index("messages.list")
    assert late[0].message_id not in taken_in(world)
    world.sync()
    assert late[0].message_id in taken_in(world)


def test_our_own_label_writes_come_back_and_change_nothing(world: World) -> None:
    world.sync()
    world.deliver("Lunch?", QUESTION)
    world.sync()
    assert [job for job, _ in world.sync()] == ["gmail.sync"]
    before = world.mailbox.state()
    assert [job for job, _ in world.sync()] == ["gmail.sync"]
    assert world.mailbox.state() == before


def test_a_label_on_a_conversation_is_one_job(world: World) -> None:
    world.sync()
    place = world.deliver("Lunch?", QUESTION)
    for number in range(3):
        world.deliver("Lunch?", f"And another thing, number {number}.", thread_id=place.thread_id)
    world.sync()
    done = world.label("Done")
    world.mailbox.label_thread(place.thread_id, add=(done,))
    ends = world.sync()
    assert [job for job, _ in ends].count("threads.cleanup") == 1


def test_unknown_label_ids_are_passed_over(world: World) -> None:
    world.sync()
    place = world.deliver("Lunch?", QUESTION)
    world.mailbox.label_message(place.message_id, add=("Label_phantom",))
    assert {end for _, end in world.sync()} == {"succeeded"}
    world.mailbox.label_message(place.message_id, remove=("Label_phantom",))
    assert world.sync() == [("gmail.sync", "succeeded")]


def test_a_message_that_is_not_visible_yet_is_looked_for_again(world: World) -> None:
    world.sync()
    place = world.deliver("Lunch?", QUESTION, hidden_gets=2)
    ends = world.sync()
    assert [end for job, end in ends if job == "gmail.ingest"] == ["queued", "queued", "succeeded"]
    assert place.message_id in taken_in(world)
    assert world.count("select max(attempt) from jobs where job_type = 'gmail.ingest'") == 1


def test_history_that_lags_behind_the_push_is_read_again(world: World) -> None:
    world.sync()
    place = world.deliver("Lunch?", QUESTION, hidden_history=2)
    ends = world.sync(history_id=place.history_id, reason="push")
    assert [end for job, end in ends if job == "gmail.sync"] == ["queued", "queued", "succeeded"]
    assert place.message_id in taken_in(world)


def test_a_push_that_history_never_bears_out_is_given_up(world: World) -> None:
    world.sync()
    ends = world.sync(history_id=2**63, reason="push")
    assert ends[-1] == ("gmail.sync", "succeeded")
    assert 2 < len(ends) < 20
    assert (world.cursor() or 0) < 2**62


def test_a_message_that_is_gone_for_good_is_done(world: World) -> None:
    world.sync()
    place = world.deliver("Oops", QUESTION)
    world.enqueue("gmail.sync")
    world.drain(only="gmail.sync")
    world.mailbox.delete_message(place.message_id)
    ends = world.drain()
    assert ends[-1] == ("gmail.ingest", "succeeded")
    assert world.count("select count(*) from jobs where output = '{\"gone\": true}'") == 1
    assert taken_in(world) == set()


def test_a_thread_deleted_before_it_is_classified_ends_without_failure(world: World) -> None:
    world.sync()
    place = world.deliver("Oops", QUESTION)
    world.enqueue("gmail.sync")
    world.drain(only="gmail.%")
    world.mailbox.delete_thread(place.thread_id)
    assert [end for _, end in world.drain()] == ["succeeded"]


def test_a_poisoned_message_does_not_stop_the_mailbox(world: World) -> None:
    world.sync()
    poisoned = world.deliver("Poison", QUESTION)
    sound = world.deliver("Sound", QUESTION)
    world.garble(poisoned.message_id)
    world.sync()
    assert taken_in(world) == {sound.message_id}
    assert world.count("select count(*) from dead_letters where job_type = 'gmail.ingest'") == 1
    assert world.cursor() is not None


def test_only_the_inbox_is_taken_in_for_classification(world: World) -> None:
    world.sync()
    for label in ("TRASH", "SPAM", "DRAFT", "Label_of_a_filter"):
        world.deliver(f"In {label}", QUESTION, label_ids=(label,))
    sent = world.deliver("In SENT", QUESTION, label_ids=("SENT",))
    ends = world.sync()
    assert "triage.classify" not in {job for job, _ in ends}
    assert taken_in(world) == {sent.message_id}


def test_mail_moved_out_of_spam_is_taken_in(world: World) -> None:
    world.sync()
    place = world.deliver("Not spam", QUESTION, label_ids=("SPAM",))
    world.sync()
    assert taken_in(world) == set()
    world.mailbox.label_message(place.message_id, add=("INBOX",), remove=("SPAM",))
    world.sync()
    assert world.email(place.thread_id).draft_id is not None


def test_archiving_and_its_undoing_decide_nothing_anew(world: World) -> None:
    world.sync()
    place = world.deliver("Note", "For your information only.")
    world.sync()
    world.mailbox.archive(place.thread_id)
    assert world.sync() == [("gmail.sync", "succeeded")]
    world.mailbox.label_thread(place.thread_id, add=("INBOX",))
    world.sync()
    assert world.count("select count(*) from decisions") == 1
    assert len(world.model.journal("messages.create")) == 1
    row = world.database.execute("select labels from messages").fetchone()
    assert row is not None
    assert "INBOX" in row[0]

"""Gmail's history and its traps (docs: gmail.md#history), each against the emulator."""

from sandbox.emulator.control import MessagePlace
from tests.doubles.mail_environment import MailEnvironment, taken_in

QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."


def test_ids_are_compared_as_numbers_over_a_power_of_ten(env: MailEnvironment) -> None:
    env.sync()
    first = env.cursor()
    places = []
    for number in range(14):
        places.append(env.deliver(f"Note {number}", "For your information only."))
        env.sync()
    last = env.cursor()
    assert first is not None
    assert last is not None
    assert first < 1_000_000 < last == env.mailbox.state().history_id
    assert taken_in(env) == {place.message_id for place in places}


def test_what_history_says_twice_is_done_once(env: MailEnvironment) -> None:
    env.sync()
    env.deliver("Lunch?", QUESTION)
    ends = env.sync()
    assert [job for job, _ in ends].count("gmail.ingest") == 1


def test_a_page_without_history_is_not_the_last(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Lunch?", QUESTION)
    env.mailbox.blank_history_pages(1)
    env.sync()
    assert place.message_id in taken_in(env)


def test_a_deleted_cursor_is_answered_with_a_full_sync_that_loses_nothing(env: MailEnvironment) -> None:
    env.sync()
    known = env.deliver("Known", "For your information only.")
    env.sync()
    missed = [env.deliver(f"Missed {number}", QUESTION) for number in range(3)]
    env.mailbox.expire_history()
    ends = env.sync()
    assert taken_in(env) == {known.message_id, *(place.message_id for place in missed)}
    assert [job for job, _ in ends].count("gmail.ingest") == len(missed)
    assert env.sync() == [("gmail.sync", "succeeded")]
    assert env.cursor() == env.mailbox.state().history_id


def test_mail_that_comes_during_the_full_sync_is_not_lost(env: MailEnvironment) -> None:
    env.sync()
    env.deliver("Before", "For your information only.")
    env.mailbox.expire_history()
    late: list[MessagePlace] = []
    real_clock = env.process.clock

    def clock() -> object:
        if env.gmail.journal("getProfile", since=begun) and not late:
            late.append(env.deliver("Late", QUESTION, hidden_searches=99))
        return real_clock()

    begun = env.gmail.journal()[-1].sequence
    env.process.clock = clock  # type: ignore[assignment] # it returns what the real one does
    env.sync()
    env.process.clock = real_clock
    operations = [call.operation for call in env.gmail.journal(since=begun)]
    assert operations.index("getProfile") < operations.index("messages.list")
    assert late[0].message_id not in taken_in(env)
    env.sync()
    assert late[0].message_id in taken_in(env)


def test_our_own_label_writes_come_back_and_change_nothing(env: MailEnvironment) -> None:
    env.sync()
    env.deliver("Lunch?", QUESTION)
    env.sync()
    assert [job for job, _ in env.sync()] == ["gmail.sync"]
    before = env.mailbox.state()
    assert [job for job, _ in env.sync()] == ["gmail.sync"]
    assert env.mailbox.state() == before


def test_a_label_on_a_conversation_is_one_job(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Lunch?", QUESTION)
    for number in range(3):
        env.deliver("Lunch?", f"And another thing, number {number}.", thread_id=place.thread_id)
    env.sync()
    done = env.label("Done")
    env.mailbox.label_thread(place.thread_id, add=(done,))
    ends = env.sync()
    assert [job for job, _ in ends].count("threads.cleanup") == 1


def test_unknown_label_ids_are_passed_over(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Lunch?", QUESTION)
    env.mailbox.label_message(place.message_id, add=("Label_phantom",))
    assert {end for _, end in env.sync()} == {"succeeded"}
    env.mailbox.label_message(place.message_id, remove=("Label_phantom",))
    assert env.sync() == [("gmail.sync", "succeeded")]


def test_a_message_that_is_not_visible_yet_is_looked_for_again(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Lunch?", QUESTION, hidden_gets=2)
    ends = env.sync()
    assert [end for job, end in ends if job == "gmail.ingest"] == ["queued", "queued", "succeeded"]
    assert place.message_id in taken_in(env)
    assert env.count("select max(attempt) from jobs where job_type = 'gmail.ingest'") == 1


def test_history_that_lags_behind_the_push_is_read_again(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Lunch?", QUESTION, hidden_history=2)
    ends = env.sync(history_id=place.history_id, reason="push")
    assert [end for job, end in ends if job == "gmail.sync"] == ["queued", "queued", "succeeded"]
    assert place.message_id in taken_in(env)


def test_a_push_that_history_never_bears_out_is_given_up(env: MailEnvironment) -> None:
    env.sync()
    ends = env.sync(history_id=2**63, reason="push")
    assert ends[-1] == ("gmail.sync", "succeeded")
    assert 2 < len(ends) < 20
    assert (env.cursor() or 0) < 2**62


def test_a_message_that_is_gone_for_good_is_done(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Oops", QUESTION)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.sync")
    env.mailbox.delete_message(place.message_id)
    ends = env.drain()
    assert ends[-1] == ("gmail.ingest", "succeeded")
    assert env.count("select count(*) from jobs where output = '{\"gone\": true}'") == 1
    assert taken_in(env) == set()


def test_a_thread_deleted_before_it_is_classified_ends_without_failure(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Oops", QUESTION)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    env.mailbox.delete_thread(place.thread_id)
    assert [end for _, end in env.drain()] == ["succeeded"]


def test_a_poisoned_message_does_not_stop_the_mailbox(env: MailEnvironment) -> None:
    env.sync()
    poisoned = env.deliver("Poison", QUESTION)
    sound = env.deliver("Sound", QUESTION)
    env.garble(poisoned.message_id)
    env.sync()
    assert taken_in(env) == {sound.message_id}
    assert env.count("select count(*) from dead_letters where job_type = 'gmail.ingest'") == 1
    assert env.cursor() is not None


def test_only_the_inbox_is_taken_in_for_classification(env: MailEnvironment) -> None:
    env.sync()
    for label in ("TRASH", "SPAM", "DRAFT", "Label_of_a_filter"):
        env.deliver(f"In {label}", QUESTION, label_ids=(label,))
    sent = env.deliver("In SENT", QUESTION, label_ids=("SENT",))
    ends = env.sync()
    assert "triage.classify" not in {job for job, _ in ends}
    assert taken_in(env) == {sent.message_id}


def test_mail_moved_out_of_spam_is_taken_in(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Not spam", QUESTION, label_ids=("SPAM",))
    env.sync()
    assert taken_in(env) == set()
    env.mailbox.label_message(place.message_id, add=("INBOX",), remove=("SPAM",))
    env.sync()
    assert env.email(place.thread_id).draft_id is not None


def test_archiving_and_its_undoing_decide_nothing_anew(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Note", "For your information only.")
    env.sync()
    env.mailbox.archive(place.thread_id)
    assert env.sync() == [("gmail.sync", "succeeded")]
    env.mailbox.label_thread(place.thread_id, add=("INBOX",))
    env.sync()
    assert env.count("select count(*) from decisions") == 1
    assert len(env.model.journal("messages.create")) == 1
    row = env.database.execute("select labels from messages").fetchone()
    assert row is not None
    assert "INBOX" in row[0]

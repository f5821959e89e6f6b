"""Changes that Gmail's history no longer tells of: a full sync stores what the mailbox shows instead."""

from tests.doubles.mail_environment import MailEnvironment, taken_in

QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."


def classified(env: MailEnvironment) -> int:
    return env.count("select count(*) from decisions")


def stored_labels(env: MailEnvironment, message_id: str) -> set[str]:
    row = env.database.execute("select labels from messages where gmail_message_id = %s", (message_id,)).fetchone()
    assert row is not None
    return set(row[0])


def test_a_stored_message_that_was_moved_into_the_inbox_meanwhile_is_classified(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Older", QUESTION, label_ids=("Label_of_a_filter",))
    env.enqueue("gmail.backfill")
    env.drain()
    assert taken_in(env) == {place.message_id}
    assert classified(env) == 0
    env.mailbox.label_message(place.message_id, add=("INBOX",))
    env.mailbox.expire_history()
    env.sync()
    assert "INBOX" in stored_labels(env, place.message_id)
    assert classified(env) == 1


def test_a_message_that_was_archived_meanwhile_gets_no_draft(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Lunch?", QUESTION)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    env.mailbox.archive(place.thread_id)
    env.mailbox.expire_history()
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    assert "INBOX" not in stored_labels(env, place.message_id)
    env.drain()
    assert not env.mailbox.state().drafts


def test_a_message_that_was_deleted_meanwhile_is_deleted_here(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Lunch?", QUESTION)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    env.mailbox.delete_message(place.message_id)
    env.mailbox.expire_history()
    env.sync()
    assert env.count("select count(*) from messages where deleted_at is null") == 0


def test_a_cursor_that_is_later_than_all_history_is_given_up(env: MailEnvironment) -> None:
    """An address was given to another mailbox: its pushes would count as old, and each sync would be a full one."""
    env.sync()
    env.database.execute("update accounts set history_id = history_id * 1000")
    first = env.deliver("Lunch?", QUESTION)
    env.sync()
    second = env.deliver("Dinner?", QUESTION)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    assert taken_in(env) == {first.message_id, second.message_id}
    assert env.cursor() == env.mailbox.state().history_id
    assert env.count("select count(*) from jobs where output ->> 'how' = 'full'") == len(("the first", "the unknown"))

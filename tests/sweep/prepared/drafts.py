"""Prepares jobs of the drafts and threads families."""

from email import message_from_string
from email.policy import default
from uuid import UUID

from domain.mail.correspondence import EmailState
from sandbox.emulator.control import MessagePlace
from tests.doubles.mail_environment import MailEnvironment
from tests.sweep.prepared.places import asked, drafted, queued


def unanswered(env: MailEnvironment) -> UUID:
    """A question that is to be answered."""
    asked(env)
    env.drain(only="triage.%")
    return queued(env, "drafts.write")


def finished_thread(env: MailEnvironment) -> UUID:
    """A thread with a draft, which its person is done with."""
    place = drafted(env)
    return env.enqueue("threads.cleanup", {"thread_id": place.thread_id, "action": "done"})


def sent_draft(env: MailEnvironment) -> UUID:
    """A draft that its person has sent."""
    place = drafted(env)
    env.mailbox.send_draft(env.email(place.thread_id).draft_id or "")
    return env.enqueue("threads.cleanup", {"thread_id": place.thread_id, "action": "check_sent"})


def discarded_draft(env: MailEnvironment) -> UUID:
    """A draft that its person has thrown away, in a thread that the payload names by a message."""
    place = drafted(env)
    env.mailbox.discard_draft(env.email(place.thread_id).draft_id or "")
    payload = {"message_id": place.message_id, "action": "check_sent"}
    job_id = env.enqueue("threads.cleanup", payload)
    env.database.execute("update jobs set created_at = created_at - interval '1 minute' where id = %s", (job_id,))
    return job_id


def asked_by_hand(env: MailEnvironment) -> UUID:
    """A letter that asked for nothing, and whose person wants to answer it."""
    env.sync()
    place = env.deliver("Note", "For your information only.")
    env.sync()
    return label_by_hand(env, place, "Needs Response", "drafts.write_manual")


def unread_by_hand(env: MailEnvironment) -> UUID:
    """A conversation that nobody has taken in, which its person wants to answer."""
    place = env.deliver("Old", "Could you answer?", label_ids=("UNREAD",))
    env.deliver("Re: Old", "Are you there?", thread_id=place.thread_id, label_ids=("UNREAD",))
    env.sync()
    return label_by_hand(env, place, "Needs Response", "drafts.write_manual")


def finished_by_hand(env: MailEnvironment) -> UUID:
    """A thread that was given up with our untouched draft in it, and whose person wants another."""
    place = given_up(env)
    return label_by_hand(env, place, "Needs Response", "drafts.write_manual")


def given_up(env: MailEnvironment) -> MessagePlace:
    """A thread whose draft was reworked too often: it is left to its person."""
    place = drafted(env)
    env.database.execute("update emails set rework_count = 3")
    env.run(label_by_hand(env, place, "Rework", "drafts.rework"))
    assert env.state(place.thread_id) is EmailState.SKIPPED
    return place


def label_by_hand(env: MailEnvironment, place: MessagePlace, label: str, job_type: str) -> UUID:
    """The person puts a label on, and history has told of it."""
    env.mailbox.label_thread(place.thread_id, add=(env.label(label),))
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    env.drain(only="threads.%")
    return queued(env, job_type)


def instructed(env: MailEnvironment) -> UUID:
    """A draft with an instruction above the machine's words."""
    place = drafted(env)
    draft = env.mailbox.state().drafts[0]
    words = message_from_string(draft["raw"], policy=default).get_content()
    env.mailbox.edit_draft(draft["draft_id"], text=f"Shorter, please.\n\n{words}")
    env.sync()
    return label_by_hand(env, place, "Rework", "drafts.rework")


def edited(env: MailEnvironment) -> UUID:
    """A draft with a person's own words, which nobody may write over."""
    place = drafted(env)
    env.mailbox.edit_draft(env.email(place.thread_id).draft_id or "", text="My own words.")
    env.sync()
    return label_by_hand(env, place, "Rework", "drafts.rework")


def worked_out(env: MailEnvironment) -> UUID:
    """A draft that was reworked three times."""
    place = drafted(env)
    env.database.execute("update emails set rework_count = 3")
    return label_by_hand(env, place, "Rework", "drafts.rework")


def gone_before_rework(env: MailEnvironment) -> UUID:
    """A draft that its person has sent after asking for another."""
    place = drafted(env)
    job_id = label_by_hand(env, place, "Rework", "drafts.rework")
    env.mailbox.send_draft(env.email(place.thread_id).draft_id or "")
    return job_id


def nothing_to_rework(env: MailEnvironment) -> UUID:
    """A thread without a draft, on which its person has put Rework."""
    env.sync()
    place = env.deliver("Note", "For your information only.")
    env.sync()
    return label_by_hand(env, place, "Rework", "drafts.rework")

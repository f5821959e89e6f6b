"""What the tests of reworks share: a thread with a draft, and a person who asks for another one."""

from email import message_from_string
from email.message import EmailMessage
from email.policy import default
from typing import Any
from uuid import UUID

from domain.mail.correspondence import EmailState
from sandbox.emulator.control import MessagePlace
from tests.doubles.mail_environment import MailEnvironment

QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."
FIRST = "Dear Anna,\n\nnoon on Friday suits me well.\n\nBest regards"
SECOND = "Dear Anna,\n\nyes.\n\nBest regards"


def drafted(env: MailEnvironment, subject: str = "Lunch?") -> MessagePlace:
    """A question whose draft has the words `FIRST`."""
    env.sync()
    env.label("Rework")
    place = env.deliver(subject, QUESTION, headers={"Message-ID": "<child@example.com>", "References": "<root@b.c>"})
    env.enqueue("gmail.sync")
    for family in ("gmail.%", "triage.%"):
        env.drain(only=family)
    env.say(input={"body": FIRST, "confidence": 0.9})
    env.drain()
    assert env.state(place.thread_id) is EmailState.DRAFTED
    return place


def draft_id(env: MailEnvironment, place: MessagePlace) -> str:
    """The draft that the record names."""
    found = env.email(place.thread_id).draft_id
    assert found is not None
    return found


def put_rework(env: MailEnvironment, place: MessagePlace) -> None:
    """The person puts Rework on the thread."""
    env.mailbox.label_thread(place.thread_id, add=(env.label("Rework"),))


def rework_job(env: MailEnvironment) -> UUID:
    """Take history in, and return the rework that it asks for, still to be run."""
    env.enqueue("gmail.sync")
    for family in ("gmail.%", "threads.%"):
        env.drain(only=family)
    row = env.database.execute("select id from jobs where job_type = 'drafts.rework' and state = 'queued'").fetchone()
    assert row is not None
    return UUID(str(row[0]))


def rework(env: MailEnvironment, place: MessagePlace, body: str = SECOND) -> None:
    """The person puts Rework on the thread, and everything is done that follows."""
    put_rework(env, place)
    job_id = rework_job(env)
    env.say(input={"body": body, "confidence": 0.9})
    env.run(job_id)
    env.drain()


def only_draft(env: MailEnvironment) -> tuple[dict[str, Any], EmailMessage]:
    """The one draft in the mailbox, and its message."""
    (draft,) = env.mailbox.state().drafts
    message = message_from_string(draft["raw"], policy=default)
    assert isinstance(message, EmailMessage)
    return draft, message


def words(env: MailEnvironment) -> str:
    """The text of the one draft."""
    return " ".join(str(only_draft(env)[1].get_content()).split())


def labels_of(env: MailEnvironment, place: MessagePlace) -> set[str]:
    """Our labels on the message that was answered."""
    return {one for one in env.mailbox.state().label_names(place.message_id) if one.startswith("Postroom/")}


def prompts(env: MailEnvironment, purpose: str = "rework") -> int:
    """How many answers of the model were paid for."""
    return env.count("select count(*) from llm_calls where purpose = %s", purpose)

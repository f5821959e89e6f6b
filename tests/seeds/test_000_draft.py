"""`draft`: its payload names the e-mail's record (docs: seeds.md#000-job-types)."""

from domain.mail.correspondence import EmailState
from tests.doubles.mail_environment import MailEnvironment

QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."


def test_the_payload_names_the_email(env: MailEnvironment) -> None:
    """000-16."""
    env.sync()
    place = env.deliver("Lunch?", QUESTION)
    env.enqueue("gmail.sync")
    for family in ("gmail.%", "triage.%"):
        env.drain(only=family)
    job_id = env.enqueue("draft", {"email_id": str(env.email(place.thread_id).email_id)})
    assert env.run(job_id) == "succeeded"
    assert env.state(place.thread_id) is EmailState.DRAFTED
    env.drain()
    assert len(env.mailbox.state().drafts) == 1

"""What tests of agents need: a profile, a mailbox that allows it, a message, and a run."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from domain.jobs.job import Origin
from domain.models.agents.profile import parse_profile
from engine.worker.lease import renew
from operations.models.agents import RunView
from sandbox.emulator.control import MessagePlace
from storage.mail.accounts import accounts
from storage.models.agents import profiles
from storage.models.agents.profiles import StoredProfile
from storage.postgres.execution import Row
from tests.doubles.mail_environment import MailEnvironment

BY = Origin(actor_id="a test")
QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."
PROFILE: dict[str, Any] = {
    "name": "assistant",
    "prompt": "Answer questions about lunch, label receipts, and call me for everything else.",
    "model": "claude-haiku-5-5",
    "tools": ["search_mail", "read_thread", "apply_label", "archive", "draft_reply", "escalate"],
    "labels": ["Receipts"],
}


SHOWN = "select result ->> 'text' from job_steps where name like 'agent_tool.%' order by at"


def give_agent(env: MailEnvironment, *, send_allowed: bool = False, **changes: Any) -> StoredProfile:  # noqa: ANN401 - fields of a profile
    """A profile of the org, with some fields changed; agents are on for the account, and the label is there."""
    ensure_label(env, "Receipts")
    with env.process.database.ledger() as tx:
        accounts.save_settings(tx, env.account.account_id, {"agent_enabled": True, "send_allowed": send_allowed})
        return profiles.add(tx, env.account.org_id, parse_profile(PROFILE | changes), by=BY)


def ensure_label(env: MailEnvironment, name: str) -> str:
    """The id of a label of the person's own, which the jobs know."""
    made = next((one["id"] for one in env.mailbox.state().labels if one["name"] == name), None)
    made = made or env.make_label(name)
    env.enqueue("gmail.sync_labels")
    env.drain(only="gmail.sync_labels")
    return str(made)


def store_letter(env: MailEnvironment, subject: str = "Lunch?", text: str = QUESTION, **options: Any) -> MessagePlace:  # noqa: ANN401 - as the emulator takes them
    """A message that was stored and that nobody looks after yet; what was queued for it is out of the way."""
    if env.cursor() is None:
        env.sync()
    place = env.deliver(subject, text, **options)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    forget_queued(env)
    return place


def forget_queued(env: MailEnvironment) -> None:
    """Take all that is queued out of the way."""
    env.database.execute("delete from jobs where state = 'queued'")
    env.database.execute("delete from idempotency_keys where status = 'pending'")


def order_run(env: MailEnvironment, place: MessagePlace, profile: str = "assistant") -> UUID:
    """A job that lets an agent look after a message."""
    renew(env.process)  # as a worker does meanwhile
    where = {"thread_id": place.thread_id, "message_id": place.message_id}
    return env.enqueue("agents.process", where | {"profile": profile})


def run_agent(env: MailEnvironment, place: MessagePlace, profile: str = "assistant") -> RunView:
    """Let an agent look after a message to the end; returns its run."""
    job_id = order_run(env, place, profile)
    env.drain(only="agents.%")
    return run_of(env, job_id)


def invoke(env: MailEnvironment, prompt: str = "What is new?", **payload: Any) -> UUID:  # noqa: ANN401 - fields of the payload
    """A job that lets the agent do what it is asked, run to the end."""
    renew(env.process)
    job_id = env.enqueue("agents.invoke", {"profile": "assistant", "prompt": prompt} | payload)
    env.drain(only="agents.%")
    return job_id


def say(env: MailEnvironment, *calls: tuple[str, dict[str, Any]]) -> None:
    """Let the model call these tools, one per turn; afterwards it does what its script says."""
    for tool, arguments in calls:
        env.say(tool=tool, input=arguments)


def end(env: MailEnvironment, words: str = "I am done.") -> None:
    """Let the model say its last word."""
    env.say(text=words)


def refusals(env: MailEnvironment, run: RunView) -> list[str]:
    """Why calls of a run were refused, in order."""
    return [call["refused"] for turn in turns_of(env, run) for call in turn.calls if call["refused"]]


def run_of(env: MailEnvironment, job_id: UUID) -> RunView:
    """The run of a job, which must have one."""
    with env.process.database.ledger() as tx:
        of_all = dict.fromkeys(("org_id", "account_id", "message_id", "after_started_at", "after_run_id"))
        (found,) = [run for run in tx.run("list_agent_runs", **of_all, limit=50) if run.job_id == job_id]
    return RunView.model_validate(found)


def turns_of(env: MailEnvironment, run: RunView) -> Sequence[Row]:
    """What was said in a run."""
    with env.process.database.ledger() as tx:
        return tx.run("list_agent_turns", run_id=run.run_id)


def results_shown(env: MailEnvironment) -> str:
    """All that the model was shown by tools in the last call."""
    return "\n".join(
        str(row[0])
        for row in env.database.execute(
            "select result ->> 'text' from job_steps where name like 'agent_tool.%' order by at"
        )
    )

"""The payloads of the agents family."""

from typing import Annotated

from pydantic import StringConstraints

from domain.jobs.uniqueness import while_active
from domain.payloads.other_names import AccountId
from domain.payloads.payload import Payload

ProfileName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]


class ProcessPayload(
    Payload,
    job_type="agents.process",
    aliases=("agent_process",),
    unique=while_active("account_id", "message_id"),
    serial_by="thread_id",
):
    """Which message of which thread, and the agent's profile that looks after it."""

    account_id: AccountId
    thread_id: str
    message_id: str
    profile: ProfileName

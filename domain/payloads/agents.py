"""The payloads of the agents family."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from domain.jobs.uniqueness import while_active
from domain.payloads.budgets import MOST_MICROCENTS
from domain.payloads.mail_fields import GmailId
from domain.payloads.other_names import AccountId, LookUp, OtherName
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
    thread_id: GmailId
    message_id: GmailId
    profile: ProfileName


MOST_TURNS = 1_000
MOST_SECONDS = 86_400
"""Far above what any profile may have, which counts besides."""


class InvokeConfig(BaseModel):
    """Limits of one run, which make the profile's narrower and never wider."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    turns: Annotated[int, Field(ge=1, le=MOST_TURNS)] | None = None
    microcents: Annotated[int, Field(ge=1, le=MOST_MICROCENTS)] | None = None
    seconds: Annotated[Annotated[int, Field(ge=10, le=MOST_SECONDS)] | None, Field(examples=[60])] = None


class InvokePayload(Payload, job_type="agents.invoke", aliases=("agent_invocation",)):
    """Which profile does what, in whose mailbox, and the schedule that asks.

    Without a prompt the profile's own orders say what is to be done; without a mailbox the run has words only.
    """

    profile: Annotated[ProfileName, OtherName("agent_name")]
    prompt: Annotated[str, StringConstraints(max_length=8_000)] = ""
    account_id: Annotated[UUID | None, OtherName("connection_id"), OtherName("user_id", LookUp.MAILBOX_OF_USER)] = None
    schedule_id: Annotated[UUID | None, OtherName("id")] = None
    config: InvokeConfig = InvokeConfig()

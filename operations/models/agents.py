"""Agents of an org: the profiles that say what they are told and allowed, and what their runs came to."""

from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import Field

from domain.jobs.failures import Gone
from domain.jobs.job import JsonObject
from domain.models.agents.loop import RunStatus
from domain.models.agents.profile import parse_profile
from operations.call import Call
from operations.mail.accounts import target_to_write
from operations.operation import WORDS, Area, OperatorsOnly, Record
from operations.pages import FIRST_ID, Page, Window
from storage.models.agents import profiles
from storage.models.agents.profiles import LONGEST_REASON, ProfilePosition, VersionPosition

AGENTS = Area("agents", "Add, list, show, disable and enable the profiles of agents, and look at their runs.")
FLEET = OperatorsOnly("a profile spends the org's money, and what it is told reads the org's mail")
OfAccount = Annotated[
    UUID | None,
    Field(description="A mailbox, by its id or address: a profile of its own, which goes before the org's."),
]


class ProfileView(Record):
    """The newest version of a profile."""

    columns: ClassVar[tuple[str, ...]] = (
        "org_id", "account_id", "name", "version", "enabled", "disabled_reason", "created_at", "created_by",
    )  # fmt: skip
    profile_id: UUID
    org_id: UUID
    account_id: UUID | None
    name: str
    version: int
    definition: JsonObject
    enabled: bool
    disabled_reason: str | None
    created_at: datetime
    created_by: str


class VersionView(ProfileView):
    """A version of a profile, with what it says."""

    columns: ClassVar[tuple[str, ...]] = (*ProfileView.columns, "definition")


class RunView(Record):
    """What a run of an agent came to."""

    values: ClassVar = ("output_preview",)
    columns: ClassVar = (
        "run_id", "profile", "profile_version", "status", "stopped_by", "reason", "turns", "cost_microcents",
        "pending_actions", "started_at",
    )  # fmt: skip
    run_id: UUID
    org_id: UUID
    account_id: UUID | None
    job_id: UUID
    thread_id: str | None = Field(description="The thread that the run looks after; null for a run without one.")
    message_id: str | None
    schedule_id: UUID | None = Field(description="The schedule that asked for the run.")
    profile: str
    profile_version: int
    model: str
    status: RunStatus
    stopped_by: str | None
    reason: str | None
    turns: int
    cost_microcents: int
    refused_calls: int
    pending_actions: int
    output_preview: str
    started_at: datetime
    finished_at: datetime | None


class TurnView(Record):
    """What was said in a turn of a run."""

    values: ClassVar = ("said", "calls")
    turn: int
    stop_reason: str
    said: str
    calls: list[JsonObject]
    cost_microcents: int


@AGENTS.deed("add", FLEET, org="required", events=("agent_profile.added",), ledger_audits=True)
def add_profile(
    call: Call,
    name: str,
    *,
    profile: Annotated[
        JsonObject, Field(description="A JSON object: prompt, model, tools, …; by command, - reads standard input.")
    ],
    account_id: OfAccount = None,
) -> ProfileView:
    """Save a profile; one that exists gets a new version, which runs begin with from now on."""
    checked = parse_profile(profile | {"name": name})
    with call.writing() as tx:
        org_id = target_to_write(tx, account_id, call.org_id).org_id
        return ProfileView.model_validate(profiles.add(tx, org_id, checked, account_id=account_id, by=call.origin))


@AGENTS.look("list", FLEET, org="optional")
def list_profiles(call: Call, window: Window) -> Page[ProfileView]:
    """List the newest version of each profile."""
    after = window.after(ProfilePosition)
    with call.reading() as tx:
        found = profiles.listed(tx, call.org_id, after=after, limit=window.rows)
    return window.page(
        found,
        ProfileView.model_validate,
        lambda one: ProfilePosition(one.org_id, one.account_id or FIRST_ID, one.name),
    )


@AGENTS.look("show", FLEET, org="required")
def show_profile(call: Call, name: str, window: Window) -> Page[VersionView]:
    """Show all versions of a profile, the newest first, with what they say."""
    after = window.after(VersionPosition)
    with call.reading() as tx:
        found = profiles.versions(tx, call.org, name, after=after, limit=window.rows)
    if not found and after is None:
        raise Gone(f"there is no profile {name}")
    return window.page(
        found, VersionView.model_validate, lambda one: VersionPosition(one.account_id or FIRST_ID, one.version)
    )


@AGENTS.deed("disable", FLEET, org="required", events=("agent_profile.disabled",), ledger_audits=True)
def disable_profile(
    call: Call,
    name: str,
    *,
    account_id: OfAccount = None,
    reason: Annotated[
        str, Field(pattern=WORDS, max_length=LONGEST_REASON, description="Why, for its owner.")
    ] = "disabled by an operator",
) -> ProfileView:
    """Let no run begin with a profile; its messages are classified instead."""
    return _switched(call, name, account_id, enabled=False, reason=reason)


@AGENTS.deed("enable", FLEET, org="required", events=("agent_profile.enabled",), ledger_audits=True)
def enable_profile(call: Call, name: str, *, account_id: OfAccount = None) -> ProfileView:
    """Let runs begin with a profile again."""
    return _switched(call, name, account_id, enabled=True)


@AGENTS.look("runs", FLEET, org="optional")
def list_runs(call: Call, window: Window) -> Page[RunView]:
    """List runs, the latest first."""
    with call.reading() as tx:
        of_all = {"account_id": None, "message_id": None}
        return window.records(tx, "list_agent_runs", RunView, org_id=call.org_id, **of_all)


@AGENTS.look("turns", FLEET)
def list_turns(call: Call, run_id: UUID) -> Page[TurnView]:
    """Show what was said in each turn of a run, without the mail that its tools read."""
    with call.reading() as tx:
        return Page([TurnView.model_validate(one) for one in tx.run("list_agent_turns", run_id=run_id)], None)


def _switched(
    call: Call, name: str, account_id: UUID | None, *, enabled: bool, reason: str | None = None
) -> ProfileView:
    with call.writing() as tx:
        org_id = target_to_write(tx, account_id, call.org_id).org_id
        switched = profiles.switch(
            tx, org_id, name, account_id=account_id, enabled=enabled, reason=reason, by=call.origin
        )
    return ProfileView.model_validate(switched)

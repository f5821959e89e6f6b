"""What is known of an agent at a message: its profile, what the account allows, and an earlier run."""

from uuid import UUID

from domain.jobs.failures import Invalid
from domain.models.agents.loop import RunStatus
from domain.models.agents.routing import AgentFacts
from storage.mail.accounts.accounts import Account
from storage.models.agents import profiles, runs
from storage.models.agents.profiles import StoredProfile
from storage.postgres.database import Transaction


def standing_of(
    tx: Transaction,
    org_id: UUID,
    account: Account | None,
    agent: str,
    *,
    message_id: str | None = None,
    but_job: UUID | None = None,
) -> tuple[StoredProfile | None, AgentFacts]:
    """The profile that an account uses by that name, and what stands in the way of a run, on a message if one is named.

    A run of the job `but_job`, or of one that it replays, is its own, and goes on with the version that it began with;
    whether the profile is enabled, its newest version says. A profile that cannot be read any more counts as missing.
    """
    newest = profiles.find(tx, org_id, None if account is None else account.account_id, agent)
    ours = frozenset[UUID]() if but_job is None else runs.jobs_done_again(tx, but_job)
    stored = (profiles.of_runs(tx, org_id, ours, agent) if ours else None) or newest
    listed = () if account is None or message_id is None else runs.of_message(tx, account.account_id, message_id)
    earlier = next((RunStatus(run.status) for run in listed if run.job_id not in ours), None)
    return stored, AgentFacts(
        has_profile=stored is not None and _can_be_read(stored),
        is_enabled=newest is not None and newest.enabled,
        account_allows=account is None or account.settings.agent_enabled,
        earlier_run=earlier,
    )


def _can_be_read(stored: StoredProfile) -> bool:
    try:
        return bool(stored.profile.name)
    except Invalid:
        return False

"""What is known of an agent at a message: its profile, what the account allows, and an earlier run."""

from uuid import UUID

from domain.agents.loop import RunStatus
from domain.agents.routing import Standing
from domain.jobs.failures import Invalid
from storage.accounts.accounts import Account
from storage.agents import profiles, runs
from storage.agents.profiles import StoredProfile
from storage.postgres.database import Transaction


def standing_of(
    tx: Transaction, account: Account, message_id: str, agent: str, *, but_job: UUID | None = None
) -> tuple[StoredProfile | None, Standing]:
    """The profile that an account uses by that name, and what stands in the way of a run on a message.

    A run of the job `but_job`, or of one that it replays, is its own, and goes on with the version that it began with;
    whether the profile is enabled, its newest version says. A profile that cannot be read any more counts as missing.
    """
    newest = profiles.find(tx, account.org_id, account.account_id, agent)
    ours = frozenset[UUID]() if but_job is None else runs.jobs_done_again(tx, but_job)
    listed = runs.of_message(tx, account.account_id, message_id)
    own = next((run for run in listed if run.job_id in ours and run.profile == agent), None)
    begun = None if own is None else profiles.of_runs(tx, account.org_id, {own.job_id}, agent)
    stored = begun or newest
    earlier = next((RunStatus(run.status) for run in listed if run.job_id not in ours), None)
    return stored, Standing(
        has_profile=stored is not None and _can_be_read(stored),
        is_enabled=newest is not None and newest.enabled,
        account_allows=account.settings.agent_enabled,
        earlier_run=earlier,
    )


def _can_be_read(stored: StoredProfile) -> bool:
    try:
        return bool(stored.profile.name)
    except Invalid:
        return False

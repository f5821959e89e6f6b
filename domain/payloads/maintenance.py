"""The payloads of the maintenance family: the schedule says what and when; few have fields."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from domain.jobs.uniqueness import for_ttl
from domain.payloads.payload import Payload


class FallbackSyncPayload(Payload, job_type="maintenance.fallback_sync"):
    """Nothing: the schedule says what and when."""


class FullSyncPayload(Payload, job_type="maintenance.full_sync"):
    """Nothing: the schedule says what and when."""


class RenewWatchesPayload(Payload, job_type="maintenance.renew_watches"):
    """Nothing: the schedule says what and when."""


class SyncLabelsPayload(Payload, job_type="maintenance.sync_labels"):
    """Nothing: the schedule says what and when."""


class CheckWatchesPayload(Payload, job_type="maintenance.check_watches"):
    """Nothing: the schedule says what and when."""


class DeleteFinishedJobsPayload(Payload, job_type="maintenance.delete_finished_jobs"):
    """After which id to go on; a tick begins with the first."""

    after: UUID | None = None


class DeleteExportedAuditPayload(Payload, job_type="maintenance.delete_exported_audit"):
    """Nothing: the ledger knows what may go, and where the last run ended."""


class PurgeExpiredKeysPayload(Payload, job_type="maintenance.purge_expired_keys"):
    """Nothing: the schedule says what and when."""


class ExpireArtifactsPayload(Payload, job_type="maintenance.expire_artifacts"):
    """Nothing: the rows say what may go."""


class SweepArtifactsPayload(Payload, job_type="maintenance.sweep_artifacts"):
    """After which place in the store to go on; a tick begins with the first."""

    after: Annotated[str, Field(max_length=200)] | None = None


class ChargeLostReservationsPayload(Payload, job_type="maintenance.charge_lost_reservations"):
    """Nothing: the schedule says what and when."""


class CheckInvariantsPayload(Payload, job_type="maintenance.check_invariants"):
    """Nothing: the schedule says what and when."""


class RaiseAlertsPayload(Payload, job_type="maintenance.raise_alerts"):
    """Nothing: the schedule says what and when."""


class RunEndHookPayload(Payload, job_type="maintenance.run_end_hook"):
    """Which job ended without its end-of-job hook, and why: the hook raised, waited, timed out or was deferred.

    With `hook` it is one that waits for jobs of any types, and the job is the first of those whose ends it missed.
    """

    job_id: UUID
    cause: Literal["raised", "waited", "timed_out", "deferred"]
    hook: Annotated[str, Field(max_length=63)] | None = None


class ReconcileEffectsPayload(Payload, job_type="maintenance.reconcile_effects"):
    """After which effect to go on, by its job and key; a tick begins with the first."""

    after: UUID | None = None
    after_key: str | None = None


class ResolveEffectPayload(Payload, job_type="maintenance.resolve_effect", unique=for_ttl("key")):
    """The effect to ask its provider about, and its account, if any, whose gate holds for this job, too."""

    key: Annotated[str, Field(min_length=1, max_length=400)]
    account_id: UUID | None = None

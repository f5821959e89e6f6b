"""What a worker answers to `celery -A tasks inspect` and `control`; the command line must know the names, too.

Celery's own commands look at its requests, and no job has one. So `active`, `reserved`, `query_task`, `revoke` and
`terminate` are replaced here by what the ledger loop knows and does. Commands that would say "ok" for
nothing, or for what the ledger loop does not follow, are refused with what to do instead.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from uuid import UUID

from celery.worker.control import Panel, control_command, inspect_command, nok, ok

from domain.jobs.job import ClaimedJob
from engine.worker.pool import PoolBatch

Told = dict[str, object]
"""What Celery's listings say of a task."""

_ANEW = "end the worker, and start it with another -c: its supervisor knows how many jobs it runs at once"

REFUSED: Mapping[str, str] = {
    "rate_limit": "calls to a provider are limited by POSTROOM_RATE_LIMITS, and `celery -A tasks gates close job_type`"
    " keeps a job type's jobs back",
    "time_limit": "a job's deadline is its type's, in tasks/",
    "autoscale": _ANEW,
    "pool_grow": _ANEW,
    "pool_shrink": _ANEW,
    "pool_restart": "end the worker: its supervisor starts it anew",
    "add_consumer": "start a worker with -Q",
    "cancel_consumer": "`celery -A tasks gates close queue` keeps a queue's jobs back, in all workers",
    "revoke_by_stamped_headers": "a job has no stamps: name the ids, `celery -A tasks jobs cancel`",
    "election": "who relays is decided in PostgreSQL",
}
"""Commands of Celery's that no worker of the fleet does, and what to do instead."""


def _refusal(name: str, instead: str) -> Callable[..., dict[str, object]]:
    def refuse(_state: object, **_: object) -> dict[str, object]:
        return dict(nok(f"{name} is not done: {instead}"))

    refuse.__doc__ = f"Refused: {instead}."
    return refuse


for _name, _instead in REFUSED.items():
    _known = Panel.meta[_name]
    control_command(name=_name, args=_known.args, signature=_known.signature, variadic=_known.variadic)(
        _refusal(_name, _instead)
    )


@inspect_command()  # type: ignore[untyped-decorator] # Celery ships no types
def ledger(state: Any) -> dict[str, object]:  # noqa: ANN401 - Celery's panel
    """How this worker stands to the ledger."""
    consumer = state.consumer
    health: dict[str, object] = consumer.ledger_loop.health(consumer.broker_age_s)
    return health


@inspect_command(alias="dump_active")  # type: ignore[untyped-decorator] # as above
def active(state: Any, **_: object) -> list[Told]:  # noqa: ANN401 - as above
    """List the jobs that run."""
    return [_told(state, job, batch) for job, batch in state.consumer.ledger_loop.pool.running()]


@inspect_command(alias="dump_reserved")  # type: ignore[untyped-decorator] # as above
def reserved(state: Any, **_: object) -> list[Told]:  # noqa: ANN401 - as above
    """List the jobs that are claimed and do not run yet, or have ended and are not settled yet."""
    loop = state.consumer.ledger_loop
    running = {job.token for job, _ in loop.pool.running()}
    return [_told(state, job) for job in loop.held() if job.token not in running]


@inspect_command(args=[("ids", str)], signature="[id1 [id2 [... [idN]]]]", variadic="ids")  # type: ignore[untyped-decorator] # as above
def query_task(state: Any, ids: Iterable[str], **_: object) -> dict[str, tuple[str, Told]]:  # noqa: ANN401 - as above
    """Say of jobs whether they run here or are held."""
    asked = _names(ids)
    listed = [("reserved", told) for told in reserved(state)] + [("active", told) for told in active(state)]
    return {str(told["id"]): (kind, told) for kind, told in listed if told["id"] in asked}


@control_command(
    name="terminate", args=[("signal", str)], signature="<signal> [id1 [id2 [... [idN]]]]", variadic="task_id"
)  # type: ignore[untyped-decorator] # as above
@control_command(signature="[id1 [id2 [... [idN]]]]", variadic="task_id")  # type: ignore[untyped-decorator] # as above
def revoke(state: Any, task_id: Iterable[str], **_: object) -> dict[str, object]:  # noqa: ANN401 - as above
    """Cancel jobs in the ledger: a waiting one at once, a running one at its next step. No signal kills a child."""
    try:
        job_ids = [UUID(name) for name in _names(task_id)]
    except ValueError:
        return dict(nok("a job's id is a UUID"))
    if not state.consumer.ledger_loop.revocations.begin(job_ids):
        return dict(nok("the worker stops; another one cancels them"))
    return dict(ok(f"{len(job_ids)} jobs will be canceled"))


def _names(ids: Iterable[str]) -> frozenset[str]:
    """The ids of a command, which Celery gives as a list, or as the id alone."""
    return frozenset([ids] if isinstance(ids, str) else [str(name) for name in ids])


def _told(state: Any, job: ClaimedJob, batch: PoolBatch | None = None) -> Told:  # noqa: ANN401 - as above
    began_at = batch and batch.began_at
    return {
        "id": str(job.job_id),
        "name": job.job_type,
        "args": [],
        "kwargs": {},
        "type": job.job_type,
        "hostname": state.hostname,
        "time_start": began_at and began_at.timestamp(),
        "acknowledged": True,
        "delivery_info": {"exchange": "", "routing_key": job.queue, "priority": None, "redelivered": None},
        "worker_pid": batch and batch.pid,
    }

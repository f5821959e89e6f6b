"""Whether the fleet's processes are as they must be, by what each of them writes into the ledger.

Beat leaves its ticks there, and a worker its release and its queues; what they have sealed names its key.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from domain.jobs.queues import Queue
from domain.jobs.scheduling.ticks import ticks_of, ticks_without_schedule
from settings import Settings
from storage.jobs import job_views, ledger
from storage.jobs.schedules import ticks
from storage.orgs.secrets import other_keys
from storage.orgs.secrets.sealing import Sealer
from storage.postgres.database import Transaction
from storage.postgres.readiness import Check

LARGEST_CLOCK_DIFFERENCE_S = 5.0
"""Jobs go by the database's clock, logs and providers' tokens by the machine's; one that is this far off is broken."""
DEPLOYED_WITHIN = timedelta(hours=1)
"""For how long workers of two releases are a deploy; after that it was left half done."""
MOST_NAMED = 3
START_BEAT = "start one, better two: celery -A tasks beat"


def read_clock() -> datetime:
    """The time of this machine."""
    return datetime.now(UTC)


class Looking(NamedTuple):
    """By what a check looks: a transaction of the ledger's, the settings, and the time."""

    tx: Transaction
    settings: Settings
    now: datetime
    machine_clock: Callable[[], datetime] = read_clock
    every: Mapping[str, timedelta] | None = None
    """How often beat ticks for each periodic job, where the process that looks knows the schedule."""


LedgerCheck = Callable[[Looking], Check]


def clock_check(look: Looking) -> Check:
    """How far this machine's clock is from the database's, which is the one that counts."""
    theirs = ledger.read_time(look.tx)
    off = abs((look.machine_clock() - theirs.astimezone(UTC)).total_seconds())
    right = off <= LARGEST_CLOCK_DIFFERENCE_S
    finding = f"{off:.1f} s from the database's"
    return Check("clock", ok=right, finding=finding, remedy="" if right else "let NTP set both machines' clocks")


def seal_check(look: Looking) -> Check:
    """Whether the sealing keys of these settings open every mailbox's tokens and every secret."""
    found = other_keys.count(look.tx, Sealer.of(look.settings))
    if not (found.mailboxes or found.secrets):
        return Check("sealed tokens", ok=True, finding="the sealing keys open every mailbox's and all secrets")
    finding = (
        f"the tokens of {found.mailboxes} mailboxes and {found.secrets} secrets were sealed by a key that is not in"
        " POSTROOM_SEALING_KEYS: their jobs cannot run here"
    )
    return Check("sealed tokens", ok=False, finding=finding, remedy=other_keys.REMEDY)


def beat_check(look: Looking) -> Check:
    """Whether a beat lives, by its ticks in the ledger: without one nothing periodic happens, and nothing says so."""
    noted = ticks.last(look.tx)
    found = ticks_without_schedule(noted) if look.every is None else ticks_of(noted, look.every)
    if found.age is None:
        finding = "none has ever run: no watch is renewed, no lost push is made up for, no alert is raised"
        return Check("beat", ok=False, finding=finding, remedy=START_BEAT)
    seen = f"{look.now - found.age:%Y-%m-%d %H:%M:%S} UTC"
    late = f"{', '.join(found.late[:MOST_NAMED])}" + (", …" if len(found.late) > MOST_NAMED else "")
    if found.late and found.is_silent:
        finding = f"none lives: the last tick was at {seen}; late are {late}"
        return Check("beat", ok=False, finding=finding, remedy=f"{START_BEAT}; its log says why it ended")
    if found.late:
        remedy = "see why in beat's log: tick_not_enqueued names the reason"
        return Check("beat", ok=False, finding=f"ticks, but not for {late}", remedy=remedy)
    if found.missing:
        finding = f"has never ticked for {', '.join(found.missing)}: it is of another release"
        return Check("beat", ok=False, finding=finding, remedy="start beat anew from this release")
    if found.is_silent:
        return Check("beat", ok=True, finding=f"silent since {seen}, while gates keep its jobs from running")
    return Check("beat", ok=True, finding=f"ticks; the last time at {seen}")


def served_check(look: Looking) -> Check:
    """Whether each queue has a worker that lives, by their leases; that it takes messages only the broker knows."""
    served = {queue for one in job_views.living_workers(look.tx) for queue in one.queues}
    left = [queue.value for queue in Queue if queue.value not in served]
    if not left:
        return Check("served queues", ok=True, finding="all: each has a worker with a lease")
    finding = f"no worker with a lease serves {', '.join(left)}: their jobs wait"
    remedy = f"start one for each: celery -A tasks worker -Q {left[0]}; its log says why one ended"
    return Check("served queues", ok=False, finding=finding, remedy=remedy)


def release_check(look: Looking) -> Check:
    """Whether all workers are of one release: during a deploy they are not, and one must come to its end."""
    living = job_views.living_workers(look.tx)
    releases = sorted({one.version for one in living})
    counted = [f"{sum(one.workers for one in living if one.version == each)} of {each or '?'}" for each in releases]
    if len(releases) < 2:  # noqa: PLR2004 - one is as it should be
        return Check("releases", ok=True, finding=f"workers: {', '.join(counted) or 'none lives'}")
    since = max(min(one.since for one in living if one.version == each) for each in releases)
    finding = f"workers of several releases live: {', '.join(counted)}; the latest since {since:%Y-%m-%d %H:%M} UTC"
    remedy = "end the deploy: stop the workers of the other release (celery -A tasks workers list names their hosts)"
    return Check("releases", ok=look.now - since <= DEPLOYED_WITHIN, finding=finding, remedy=remedy)


FLEET_CHECKS: Sequence[tuple[str, LedgerCheck]] = (
    ("clock", clock_check),
    ("sealed tokens", seal_check),
    ("beat", beat_check),
    ("served queues", served_check),
    ("releases", release_check),
)
"""Each check by its name."""

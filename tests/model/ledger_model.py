"""A model of the ledger in plain Python, without a database: what each function does to a job.

Times are whole seconds of the model's own clock, which moves by leaps of a hundred. Everything that ends or falls due
does so thirty or fifty seconds off a leap, so that the seconds a test really takes cannot matter.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from domain.jobs.job import State

LEASE, DEADLINE, DELAY, REST = 150, 450, 130, 30
MOST_LOSSES, MOST_RETURNS = 3, 20
CHARGED_REST = 15
"""How long a job rests at the most that was charged with its process."""
HELD = (State.CLAIMED, State.RUNNING)


@dataclass(frozen=True)
class Kind:
    """A job type."""

    name: str
    max_attempts: int = 3
    queue: str = "default"
    slots: int | None = None
    unique: str | None = None
    provider: str | None = None


_ALL = (
    Kind("model.plain"),
    Kind("model.patient", max_attempts=5),
    Kind("model.one", slots=1),
    Kind("model.two", slots=2, max_attempts=2),
    Kind("model.queued", unique="while_queued"),
    Kind("model.active", unique="while_active", slots=1),
    Kind("model.calling", queue="notifications", provider="gmail"),
)
KINDS = {kind.name: kind for kind in _ALL}


@dataclass
class JobModel:
    """What the model knows of one job."""

    kind: Kind
    org: UUID
    account: str
    run_at: int
    priority: int = 0
    expires_at: int | None = None
    state: State = State.QUEUED
    attempt: int = 0
    losses: int = 0
    suspect: bool = False
    returns: int = 0
    token: UUID | None = None
    worker: UUID | None = None
    claimed_at: int = 0
    cancel_requested: bool = False

    @property
    def key(self) -> tuple[str, UUID, str] | None:
        """Its concurrency key."""
        return (self.kind.name, self.org, self.account) if self.kind.slots else None

    @property
    def guard(self) -> tuple[str, UUID, str] | None:
        """Its unique key."""
        return (self.kind.name, self.org, self.account) if self.kind.unique else None

    @property
    def row(self) -> tuple[object, ...]:
        """What the ledger should say of it."""
        counts = (self.attempt, self.losses, self.suspect, self.returns)
        return (self.state.value, *counts, self.token, self.worker, self.cancel_requested)

    def let_go(self, state: State) -> None:
        """End the claim."""
        self.state, self.token, self.worker = state, None, None

    def gates(self) -> Iterable[tuple[str, str]]:
        """Every gate that applies to it."""
        yield ("fleet", "all")
        yield from (("queue", self.kind.queue), ("job_type", self.kind.name))
        yield from (("org", str(self.org)), ("account", self.account))
        if self.kind.provider:
            yield ("provider", self.kind.provider)
            yield ("org_provider", f"{self.org}:{self.kind.provider}")


@dataclass(frozen=True)
class End:
    """What one outcome of an attempt does."""

    state: State
    counts: bool = True
    wait: int | None = None
    last_is_dead: bool = False
    loses: int = 0
    returns: bool = False
    keeps_suspect: bool = False


ENDS = {
    "done": End(State.SUCCEEDED),
    "held": End(State.SUCCEEDED),
    "cancel": End(State.CANCELED),
    "snooze": End(State.QUEUED, counts=False, wait=DELAY, returns=True),
    "transient": End(State.QUEUED, wait=DELAY, last_is_dead=True),
    "throttled": End(State.QUEUED, counts=False, wait=DELAY),
    "unauthorised": End(State.QUEUED, counts=False, wait=REST),
    "invalid": End(State.DEAD),
    "permanent": End(State.FAILED),
    "interrupted": End(State.QUEUED, counts=False, keeps_suspect=True),
    "unstarted": End(State.QUEUED, counts=False, keeps_suspect=True),
    "died": End(State.QUEUED, last_is_dead=True, loses=1),
    "died_beside": End(State.QUEUED, counts=False, returns=True),
}
"""Every outcome of an attempt that its own worker settles."""


@dataclass
class EffectModel:
    """An external effect, and the claim that began it."""

    job_id: UUID
    token: UUID
    status: str = "running"


@dataclass
class LedgerModel:
    """All jobs, claims, gates and effects."""

    now: int = 0
    jobs: dict[UUID, JobModel] = field(default_factory=dict)
    leases: dict[UUID, int] = field(default_factory=dict)
    closed: dict[tuple[str, str], int | None] = field(default_factory=dict)
    guards: dict[tuple[str, UUID, str], UUID] = field(default_factory=dict)
    effects: dict[tuple[UUID, str], EffectModel] = field(default_factory=dict)

    def winner(self, job: JobModel) -> UUID | None:
        """The job that holds the unique key of a new one, or None."""
        first = self.guards.get(job.guard) if job.guard else None
        if first is None:
            return None
        in_the_way = (State.QUEUED,) if job.kind.unique == "while_queued" else (State.QUEUED, *HELD)
        return first if self.jobs[first].state in in_the_way else None

    def enqueue(self, job_id: UUID, job: JobModel) -> None:
        """Add a job whose unique key is free."""
        self.jobs[job_id] = job
        if job.guard:
            self.guards[job.guard] = job_id

    def alive(self, worker: UUID | None) -> bool:
        """Whether a process has a lease."""
        return worker is not None and self.leases.get(worker, self.now) > self.now

    def close(self, gate: tuple[str, str], wait: int | None) -> None:
        """Close a gate; the later end wins."""
        until = None if wait is None else self.now + wait
        old = self.closed.get(gate, self.now)
        if old is not None and (until is None or until > old):
            self.closed[gate] = until

    def is_closed(self, gate: tuple[str, str]) -> bool:
        """Whether a gate is closed now."""
        until = self.closed.get(gate, self.now)
        return until is None or until > self.now

    def claim_answer(self, job: JobModel) -> str | None:
        """What a claim answers for a job, concurrency keys aside; None for a job that is not queued."""
        if job.state is not State.QUEUED:
            return None
        if job.cancel_requested:
            return "canceled"
        if job.expires_at is not None and job.expires_at <= self.now:
            return "expired"
        if job.run_at > self.now:
            return "early"
        return "gated" if any(self.is_closed(gate) for gate in job.gates()) else "claimed"

    def room(self, key: tuple[str, UUID, str]) -> int:
        """How many more jobs of a concurrency key may be held."""
        of_key = [job for job in self.jobs.values() if job.key == key]
        return (of_key[0].kind.slots or 0) - sum(job.state in HELD for job in of_key)

    def claim(self, job_id: UUID, worker: UUID, token: UUID) -> None:
        """Give a job to a process; a suspect begins with its claim."""
        job = self.jobs[job_id]
        job.state = State.RUNNING if job.suspect else State.CLAIMED
        job.attempt += job.state is State.RUNNING
        job.returns -= job.suspect and job.returns > 0  # the way back by which it came to run alone
        job.token, job.worker, job.claimed_at = token, worker, self.now

    def start(self, job_id: UUID, token: UUID) -> None:
        """Note that a claimed job has begun."""
        job = self.jobs[job_id]
        if job.token == token and job.state is State.CLAIMED:
            job.state, job.attempt = State.RUNNING, job.attempt + 1

    def settle(self, job_id: UUID, token: UUID, outcome: str) -> bool:
        """End an attempt; false when the claim is lost."""
        job, end = self.jobs[job_id], ENDS[outcome]
        if job.token != token:
            return False
        job.attempt += job.state is State.CLAIMED
        job.losses += end.loses
        poison = job.losses >= MOST_LOSSES and end.loses > 0
        dead = end.last_is_dead and (job.attempt >= job.kind.max_attempts or poison)
        job.attempt -= not end.counts
        job.suspect = job.suspect and end.keeps_suspect
        job.returns += end.returns
        job.run_at = job.run_at if end.wait is None or dead else self.now + end.wait
        job.let_go(State.DEAD if dead else end.state)
        return True

    def overdue(self, job: JobModel) -> bool:
        """Whether a rescue may take a held job back."""
        return job.state in HELD and (not self.alive(job.worker) or job.claimed_at + DEADLINE <= self.now)

    def surely_overdue(self, job: JobModel) -> bool:
        """Whether a rescue must: it looks at a job when the lease that stood at the claim could have ended."""
        return self.overdue(job) and job.claimed_at + LEASE <= self.now

    def rescue(self, job_id: UUID) -> None:
        """Take a job back."""
        job = self.jobs[job_id]
        ran, silent = job.state is State.RUNNING, not self.alive(job.worker)
        guilty = ran and (job.suspect or not silent)
        excused = ran and not guilty and job.returns < MOST_RETURNS
        job.losses += guilty
        last = job.losses >= MOST_LOSSES or job.attempt >= job.kind.max_attempts
        state = State.DEAD if ran and last and not excused else State.QUEUED
        state = State.CANCELED if job.cancel_requested else state
        if excused and state is State.QUEUED:
            job.attempt, job.returns = job.attempt - 1, job.returns + 1
        job.suspect = silent and state is State.QUEUED
        if job.suspect and guilty:
            job.run_at = self.now + CHARGED_REST
        job.let_go(state)

    def give_back(self, worker: UUID) -> set[UUID]:
        """A process stops: its jobs go back and its lease is gone; returns them."""
        if worker not in self.leases:
            return set()
        del self.leases[worker]
        mine = {job_id for job_id, job in self.jobs.items() if job.state in HELD and job.worker == worker}
        self._return(mine)
        return mine

    def give_back_unanswered(self, tokens: Collection[UUID]) -> set[UUID]:
        """What was claimed by these tokens goes back; returns it."""
        claimed = {job_id for job_id, job in self.jobs.items() if job.state in HELD and job.token in tokens}
        self._return(claimed)
        return claimed

    def _return(self, job_ids: Collection[UUID]) -> None:
        for job_id in job_ids:
            job = self.jobs[job_id]
            job.attempt -= job.state is State.RUNNING
            job.let_go(State.QUEUED)

    def cancel(self, job_id: UUID) -> str | None:
        """Ask for a job to be canceled; its state afterwards, or None when it was final."""
        job = self.jobs[job_id]
        if job.state.final:
            return None
        job.cancel_requested = True
        if job.state is State.QUEUED:
            job.state = State.CANCELED
        return job.state.value

    def fair_choice(self, chosen: Sequence[UUID], left: Sequence[UUID], room: int) -> bool:
        """Whether a key's slots went to as many as there was room for, and to the most urgent."""
        least = min((self.jobs[job_id].priority for job_id in chosen), default=101)
        most = max((self.jobs[job_id].priority for job_id in left), default=-101)
        return len(chosen) == min(room, len(chosen) + len(left)) and least >= most

    def check_slots(self, wanting: Sequence[UUID], claimed: set[UUID]) -> None:
        """Compare who got the slots of concurrency keys with who should have."""
        for key in {self.jobs[job_id].key for job_id in wanting} - {None}:
            of_key = [job_id for job_id in wanting if self.jobs[job_id].key == key]
            chosen = [job_id for job_id in of_key if job_id in claimed]
            left = [job_id for job_id in of_key if job_id not in claimed]
            assert key is not None
            room = self.room(key)
            assert self.fair_choice(chosen, left, room), f"{len(chosen)} of {len(of_key)} for {room} slots"

    def check_backlog(self, got: Mapping[UUID, str], org: UUID, *, count: int) -> None:
        """Compare what a claim from backlogs answered with what it should; end what it found canceled or expired."""
        claimed = {job_id for job_id, said in got.items() if said == "claimed"}
        self.check_slots([job_id for job_id, said in got.items() if said in {"claimed", "serial"}], claimed)
        places: Counter[tuple[str, int]] = Counter()
        for job_id, said in got.items():
            job = self.jobs[job_id]
            assert job.org == org, f"{job} is another org's"
            assert {"serial": "claimed"}.get(said, said) == self.claim_answer(job), f"{said}: {job}"
            places[job.kind.queue, job.priority] += 1
            if said in {"canceled", "expired"}:
                job.state = State.CANCELED
        assert max(places.values(), default=0) <= count

    def begin_effect(self, job_id: UUID, token: UUID, name: str) -> str | None:
        """What an attempt is answered that begins an effect; None when its claim is lost."""
        if self.jobs[job_id].token != token:
            return None
        key = self.jobs[job_id].org, name
        known = self.effects.get(key)
        if known is None or known.status == "failed":
            self.effects[key] = EffectModel(job_id, token)
            return "act"
        if known.status != "running":
            return {"succeeded": "done", "unknown": "unknown"}[known.status]
        if known.job_id != job_id and self.jobs[known.job_id].token == known.token:
            return "busy"
        known.job_id, known.token = job_id, token
        return "find_out"

    def finish_effect(self, job_id: UUID, token: UUID, name: str, status: str) -> bool:
        """Note how an effect ended; false when it is not this attempt's."""
        known = self.effects.get((self.jobs[job_id].org, name))
        # Jobs that were claimed together have the same token.
        if known is None or (known.job_id, known.token) != (job_id, token) or self.jobs[job_id].token != token:
            return False
        known.status = status
        return True

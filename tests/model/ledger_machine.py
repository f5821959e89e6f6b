"""Drives the real ledger and the model by the same random steps, and compares them after each."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid4, uuid5

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from domain.jobs.effects import EffectStatus, Strategy
from domain.jobs.failures import ClaimLost
from domain.jobs.job import ClaimedJob, JsonObject, NewJob, Origin, State
from domain.jobs.lifecycle import Settlement
from domain.jobs.monitoring.job_facts import JobFacts
from domain.jobs.monitoring.why import why
from domain.jobs.scheduling.backlog_demand import BacklogKey
from storage.jobs import effects, gates, job_views, ledger
from storage.jobs.gates import Gate
from storage.jobs.ledger import Worker
from tests.doubles.factories import pass_time, relay_once
from tests.invariants import check_ledger, find_gaps
from tests.model.ledger_fixture import LedgerFixture, Verbs, settlement
from tests.model.ledger_model import ENDS, HELD, KINDS, LEASE, LedgerModel
from tests.model.ledger_strategies import (
    BROKER_STATES,
    CLOSABLE,
    EFFECT_ENDS,
    HINT_TIMEOUT,
    LEASE_SPAN,
    LIVELY,
    MOST_JOBS,
    MOST_ROUNDS,
    REQUESTS,
    SPANS,
    asked_for,
)
from tests.model.waiting_causes import causes_of

QUEUES = sorted({kind.queue for kind in KINDS.values()})


class LedgerMachine(RuleBasedStateMachine):
    """Workers that crash and freeze, a broker that loses and doubles hints, operators who cancel and pause."""

    def __init__(self, fixture: LedgerFixture, verbs: Verbs) -> None:
        """Begin with an empty ledger."""
        super().__init__()
        self.fixture, self.verbs, self.store = fixture, verbs, fixture.store
        self.model = LedgerModel()
        self.hints: list[UUID] = []
        self.claimed: list[ClaimedJob] = []
        """All claims ever handed out; most of them are lost meanwhile."""
        self.doubts: list[UUID] = []
        """Tokens of claims whose answer was lost: nobody knows which jobs they took."""
        self.asked_for = 0

    @initialize(asked=REQUESTS)
    def begin(self, asked: list[dict[str, Any]]) -> None:
        """Two processes, and something to do."""
        self.fixture.empty()
        for worker in self.fixture.workers:
            self.renew(worker)
        self.enqueue(asked, publisher=True)

    @rule(asked=REQUESTS, publisher=st.booleans())
    @precondition(lambda self: len(self.model.jobs) < MOST_JOBS)
    def enqueue(self, asked: list[dict[str, Any]], publisher: bool) -> None:
        """Jobs are enqueued."""
        now = datetime.now(UTC)
        models = [asked_for(one, self.fixture.orgs, self.model.now) for one in asked]
        jobs = [
            NewJob(
                model.kind.name,
                model.org,
                {"account_id": model.account},
                job_id=self._next_id(),
                priority=model.priority,
                run_at=one["delay"] and now + timedelta(seconds=one["delay"]),
                expires_at=one["expires"] and now + timedelta(seconds=one["expires"]),
            )
            for one, model in zip(asked, models, strict=True)
        ]
        with self.store.ledger() as tx:
            made = ledger.enqueue(tx, jobs, publisher=publisher, hint_timeout=HINT_TIMEOUT, burst=2)
        for model, one in zip(models, made, strict=True):
            first = self.model.winner(model)
            assert one.created == (first is None), f"{model} met {first}"
            if first is None:
                self.model.enqueue(one.job_id, model)
            else:
                assert one.job_id == first
            if one.publish:
                assert publisher
                self.hints.append(one.job_id)

    def _next_id(self) -> UUID:
        """The same ids in the same order each time, though not by age.

        The ledger decides between equals by their ids. PostgreSQL's own would come in the order of its plan, which
        changes during a long run; then the same steps lead elsewhere, and Hypothesis complains of flaky data.
        """
        self.asked_for += 1
        return uuid5(NAMESPACE_OID, f"job {self.asked_for}")

    @rule(broker=BROKER_STATES)
    def relay(self, broker: str = "works") -> None:
        """One round of the relay, whose hints may all get lost, or all that lay in the broker."""
        if broker == "is flushed":
            self.hints.clear()
            with self.store.ledger() as tx:
                self.verbs.recall_hints(tx, batch=1000)
        got: set[UUID] = set()
        for hint in relay_once(self.store, burst=2):
            job = self.model.jobs[hint.job_id]
            assert job.state is State.QUEUED, f"a hint for {job}"
            assert job.run_at <= self.model.now, f"a hint too early for {job}"
            assert not any(self.model.is_closed(gate) for gate in job.gates()), f"a hint past a gate for {job}"
            got.add(hint.job_id)
        if broker != "forgets":
            self._note(got)

    @rule(data=st.data(), number=st.integers(0, 1), answered=st.sampled_from([True, True, True, False]))
    @precondition(lambda self: self.hints)
    def claim(self, data: st.DataObject, number: int, answered: bool) -> None:
        """A process claims by hints; some are late, doubled or invented, and the answer may get lost."""
        known = list(self.model.jobs)
        waiting = [job_id for job_id in known if self.model.jobs[job_id].state is State.QUEUED]
        hints = st.sampled_from(self.hints) | st.sampled_from(waiting or known) | st.sampled_from(known)
        job_ids = data.draw(st.lists(hints, min_size=1, max_size=8), label="hints")
        self.hints = [hint for hint in self.hints if hint not in job_ids]
        self._claim(self.fixture.workers[number], job_ids, answered=answered)

    @rule(number=st.integers(0, 1))
    def claim_all(self, number: int) -> None:
        """The relay has a round, and a process claims all that it has hints for."""
        self.relay()
        if self.hints:
            job_ids, self.hints = list(dict.fromkeys(self.hints)), []
            self._claim(self.fixture.workers[number], job_ids)

    def _claim(self, worker: Worker, job_ids: list[UUID], *, answered: bool = True) -> None:
        token = uuid4()
        answers = {job_id: self.model.claim_answer(self.model.jobs[job_id]) for job_id in job_ids}
        with self.store.ledger() as tx:
            claims = self.verbs.claim(tx, job_ids, worker.worker_id, lease=LEASE_SPAN, token=token)
            ledger.end_unclaimed(tx, list(claims.refused))
        claimed = {job.job_id: job for job in claims.jobs}
        self.model.check_slots([job_id for job_id, said in answers.items() if said == "claimed"], set(claimed))
        for job_id, said in answers.items():
            got = "claimed" if job_id in claimed else claims.refused.get(job_id)
            contested = said == "claimed" and self.model.jobs[job_id].key
            assert got == said or (contested and got == "serial"), f"{got} instead of {said}"
            if got in {"canceled", "expired"}:
                self.model.jobs[job_id].state = State.CANCELED
        for job_id, job in claimed.items():
            assert job.started == self.model.jobs[job_id].suspect, f"{job} begins with its claim"
            self.model.claim(job_id, worker.worker_id, token)
            counted = self.model.jobs[job_id].attempt + (not job.started)
            assert job.attempt == counted, f"{job} is not attempt {counted}"
        if answered:
            self.claimed += [claimed[job_id] for job_id in answers if job_id in claimed]
        else:
            self.doubts.append(token)

    @rule(
        number=st.integers(0, 1),
        org=st.integers(0, 1),
        count=st.sampled_from([1, 2, 100]),
        answered=st.sampled_from([True, True, True, False]),
    )
    @precondition(lambda self: self.model.jobs)
    def claim_from_backlog(self, number: int, org: int, count: int, *, answered: bool = True) -> None:
        """A process claims from the backlogs, whatever jobs of an org wait there; the answer may get lost."""
        worker, token = self.fixture.workers[number], uuid4()
        demand = {BacklogKey(*place, self.fixture.orgs[org]): count for place in product(QUEUES, (0, 5))}
        with self.store.ledger() as tx:
            claims = self.verbs.claim(tx, [], worker.worker_id, lease=LEASE_SPAN, demand=demand, token=token)
            ledger.end_unclaimed(tx, list(claims.refused))
        got = {job.job_id: "claimed" for job in claims.jobs} | claims.refused
        self.model.check_backlog(got, self.fixture.orgs[org], count=count)
        for made in claims.jobs:
            assert made.started == self.model.jobs[made.job_id].suspect, f"{made} begins with its claim"
            self.model.claim(made.job_id, worker.worker_id, token)
        if answered:
            self.claimed += sorted(claims.jobs, key=lambda job: list(self.model.jobs).index(job.job_id))
        else:
            self.doubts.append(token)

    @rule()
    @precondition(lambda self: self.doubts)
    def give_doubtful_back(self) -> None:
        """A process gives back whatever it has claimed without an answer; some of it has gone back already."""
        with self.store.ledger() as tx:
            moved = self.verbs.return_unanswered(tx, self.doubts, LEASE_SPAN)
        assert moved.job_ids == self.model.give_back_unanswered(self.doubts)
        self._hear(moved.hints)
        self.doubts.clear()

    @rule(data=st.data())
    @precondition(lambda self: self.claimed)
    def start(self, data: st.DataObject) -> None:
        """A process writes that some of its jobs run."""
        claimed = data.draw(st.lists(st.sampled_from(self.claimed), min_size=1, max_size=4), label="claims")
        with self.store.ledger() as tx:
            self.verbs.record_starts(tx, [(job.job_id, job.token, datetime.now(UTC)) for job in claimed])
        for job in claimed:
            self.model.start(job.job_id, job.token)

    @rule(data=st.data())
    @precondition(lambda self: self.claimed)
    def settle(self, data: st.DataObject) -> None:
        """A process writes what became of some of its jobs; some claims are lost, and others have the job."""
        own = [job for job in self.claimed if self.model.jobs[job.job_id].token == job.token]
        lost = [job for job in self.claimed if self.model.jobs[job.job_id].token not in {None, job.token}]
        one = st.one_of([st.sampled_from(claims or self.claimed) for claims in (own, lost, self.claimed)])
        named = data.draw(
            st.lists(one, min_size=1, max_size=5, unique_by=lambda job: (job.job_id, job.token)), label="claims"
        )
        outcomes = [data.draw(st.sampled_from([o for o in ENDS if o != "held"]), label="outcome") for _ in named]
        self._write([(settlement(job, said), said) for job, said in zip(named, outcomes, strict=True)])

    @rule(data=st.data())
    @precondition(lambda self: self.claimed)
    def settle_held(self, data: st.DataObject) -> None:
        """A handler ends well in a transaction of its own."""
        job = data.draw(st.sampled_from(self.claimed), label="claim")
        held = self.model.jobs[job.job_id].token == job.token
        try:
            with self.store.ledger() as tx:
                woken = self.verbs.settle_held(tx, job, {}, 0, began_at=datetime.now(UTC)).answer.hints
        except ClaimLost:
            assert not held
        else:
            assert held
            self.model.settle(job.job_id, job.token, "held")
            self._hear(woken)

    def _write(self, settlements: list[tuple[Settlement, str]]) -> None:
        with self.store.ledger() as tx:
            settled = self.verbs.settle(tx, [made for made, _ in settlements])
        closing = [made.gate for made, _ in settlements if made.gate and made.job_id not in settled.refused]
        refused = [made.job_id for made, said in settlements if not self.model.settle(made.job_id, made.token, said)]
        assert sorted(settled.refused) == sorted(refused)
        for gate in closing:
            wait = None if gate.until is None else round((gate.until - datetime.now(UTC)).total_seconds() / 10) * 10
            self.model.close((gate.scope.value, gate.key), wait)
        self._hear(settled.hints)

    def _hear(self, woken: Sequence[Any]) -> None:
        for hint in woken:
            job = self.model.jobs[hint.job_id]
            assert job.state is State.QUEUED, f"woken: {job}"
            assert job.key
        self._note({hint.job_id for hint in woken})

    def _note(self, hinted: set[UUID]) -> None:
        """Add hints in an order that is the same each time the same steps are played."""
        self.hints += [job_id for job_id in self.model.jobs if job_id in hinted]

    @rule(
        data=st.data(),
        name=st.sampled_from(["send", "label"]),
        status=EFFECT_ENDS,
    )
    @precondition(lambda self: self.claimed)
    def act(self, data: st.DataObject, name: str, status: str | None) -> None:
        """A handler begins an external effect, and may end it."""
        job = data.draw(st.sampled_from(self.claimed), label="claim")
        expected = self.model.begin_effect(job.job_id, job.token, name)
        try:
            with self.store.ledger() as tx:
                learned = effects.begin_effect(tx, job, name, Strategy.FIND).standing.value
        except ClaimLost:
            learned = None
        assert learned == expected
        if status is not None and learned in {"act", "find_out", "busy", None}:
            with self.store.ledger() as tx:
                result: JsonObject | None = {} if status == "succeeded" else None
                done = effects.finish_effect(tx, job, name, EffectStatus(status), result=result, error={"code": "x"})
            assert done == self.model.finish_effect(job.job_id, job.token, name, status)

    @rule(
        span=SPANS,
        renewing=LIVELY,
    )
    def leap(self, span: int, renewing: Sequence[int] = ()) -> None:
        """Time passes for leases, deadlines, hints and gates; some processes renew their lease, late or in time.

        Then the relay takes back what was lost.
        """
        pass_time(self.fixture.owner, timedelta(seconds=span))
        self.model.now += span
        for number in renewing:
            self.renew(self.fixture.workers[number])
        self._rescue()

    def renew(self, worker: Worker) -> None:
        """Renew a lease."""
        with self.store.ledger() as tx:
            ledger.renew_lease(tx, worker, LEASE_SPAN)
        self.model.leases[worker.worker_id] = self.model.now + LEASE

    def _rescue(self) -> None:
        may = {job_id for job_id, job in self.model.jobs.items() if self.model.overdue(job)}
        must = {job_id for job_id in may if self.model.surely_overdue(self.model.jobs[job_id])}
        with self.store.ledger() as tx:
            moved = self.verbs.rescue(tx, batch=1000)
        assert must <= moved.job_ids <= may
        for job_id in moved.job_ids:
            self.model.rescue(job_id)
        self._hear(moved.hints)

    @rule(number=st.integers(0, 1))
    def stop(self, number: int) -> None:
        """A process stops and its claims are returned; its handlers may still try to settle."""
        worker = self.fixture.workers[number]
        with self.store.ledger() as tx:
            moved = self.verbs.return_claims(tx, worker.node_id, LEASE_SPAN)
        assert moved.job_ids == self.model.give_back(worker.worker_id)
        self._hear(moved.hints)

    @rule(data=st.data())
    @precondition(lambda self: self.model.jobs)
    def cancel(self, data: st.DataObject) -> None:
        """An operator asks for jobs to be canceled."""
        job_ids = data.draw(st.lists(st.sampled_from(list(self.model.jobs)), min_size=1, max_size=2, unique=True))
        with self.store.ledger() as tx:
            got = ledger.cancel(tx, job_ids, "no longer wanted", by=Origin())
        expected = {job_id: self.model.cancel(job_id) for job_id in job_ids}
        assert got == {job_id: state for job_id, state in expected.items() if state}

    @rule(data=st.data(), scope=CLOSABLE, wait=st.sampled_from([None, 50, 250, 1050]))
    @precondition(lambda self: self.model.jobs)
    def close_gate(self, data: st.DataObject, scope: str, wait: int | None) -> None:
        """An operator closes a gate of one of the jobs."""
        job = data.draw(st.sampled_from(list(self.model.jobs.values())), label="job")
        key = dict(job.gates()).get(scope)
        if key is not None:
            until = None if wait is None else datetime.now(UTC) + timedelta(seconds=wait)
            with self.store.ledger() as tx:
                gates.close(tx, Gate(scope, key, "a pause", until, "ada"))
            self.model.close((scope, key), wait)

    @rule()
    @precondition(lambda self: self.model.closed)
    def open_gates(self) -> None:
        """An operator opens every gate."""
        for scope, key in self.model.closed:
            with self.store.ledger() as tx:
                assert gates.open_gate(tx, scope, key) == self.model.is_closed((scope, key))
        self.model.closed.clear()

    @invariant()
    def agree(self) -> None:
        """The ledger says of each job what the model says, and does not contradict itself."""
        said = {job_id: job.row for job_id, job in self.model.jobs.items()}
        assert self.fixture.rows() == said
        assert find_gaps(self.fixture.owner, resting=False) == []
        with self.store.ledger() as tx:
            for job_id in self.model.jobs:
                self.explain(job_views.facts(tx, job_id))

    @staticmethod
    def explain(facts: JobFacts | None) -> None:
        """There is a reason why each job is where it is, and it is the reason of its waiting state."""
        assert facts is not None
        found = why(facts)
        assert found.cause in causes_of(facts), (found, facts)
        assert found.sentence.endswith(".")
        assert found.since or found.until

    def teardown(self) -> None:
        """Every job ends in the end, whatever happened before."""
        for _ in range(MOST_ROUNDS):
            if all(job.state.final for job in self.model.jobs.values()):
                break
            self._work_on()
        self.agree()
        check_ledger(self.fixture.owner)

    def _work_on(self) -> None:
        """One round of a healthy fleet."""
        self.leap(1000, renewing=(0, 1))
        self.open_gates()
        self.claim_all(0)
        for org in range(len(self.fixture.orgs)):
            self.claim_from_backlog(0, org, 100)
        held = [job for job in self.claimed if self.model.jobs[job.job_id].state in HELD]
        self._write([(settlement(job, "done"), "done") for job in held])

"""What becomes of a job: properties over every state, outcome and failure."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import (
    ClaimLost,
    Conflict,
    CredentialsLost,
    Failure,
    Forbidden,
    Gone,
    Invalid,
    Permanent,
    Scope,
    Throttled,
    Transient,
    Unauthorised,
    Uncertain,
)
from domain.jobs.gate_causes import Cause
from domain.jobs.job import FINAL, Cancel, ClaimedJob, Done, JsonObject, Origin, Outcome, Snooze, State
from domain.jobs.lifecycle import (
    LONG_WAIT,
    MAX_LOSSES,
    MOVES,
    REST_BEHIND_GATE,
    THROTTLE_JITTER,
    LossCause,
    LostClaim,
    lose,
    lose_claim,
    settlement_of,
)
from domain.jobs.retry import LEAST_REST, MOST_RETURNS, POLICIES, RetryPolicy

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=3)

jitter = st.floats(0, 1, exclude_max=True)
policies = st.sampled_from(sorted(POLICIES.values(), key=lambda policy: policy.name))
failures = st.sampled_from(
    [
        Transient("passing"),
        Throttled("slow down", retry_after=timedelta(minutes=2), scope=Scope.ACCOUNT, provider="gmail"),
        Throttled("slow down", retry_after=timedelta(hours=2), scope=Scope.PROVIDER, provider="anthropic"),
        Permanent("no use"),
        Gone("gone"),
        Conflict("there"),
        Forbidden("not yours"),
        Invalid("field", "reason"),
        Uncertain("who knows"),
        Unauthorised("consent gone", account="an-account"),
        CredentialsLost("refused", provider="resend"),
        Failure("unnamed"),
    ]
)
outcomes = st.one_of(st.just(Done({"n": 1})), st.just(Snooze(LATER, "later")), st.just(Cancel("pointless")), failures)
attempts = st.integers(1, 12)


def held(attempt: int, most: int = 5) -> ClaimedJob:
    return ClaimedJob(
        job_id=uuid4(),
        token=uuid4(),
        job_type="probe.run",
        queue="default",
        org_id=uuid4(),
        project_id=None,
        payload={"account_id": "an-account"},
        payload_version=1,
        attempt=attempt,
        max_attempts=most,
        losses=0,
        deadline=timedelta(minutes=5),
        origin=Origin(),
        created_at=NOW,
    )


@given(outcomes, policies, attempts, jitter)
def test_every_settlement_is_a_move_of_the_table_and_names_its_claim(
    outcome: Outcome | Failure, policy: RetryPolicy, attempt: int, throw: float
) -> None:
    job = held(attempt, policy.attempts)
    settlement = settlement_of(job, outcome, policy, NOW, throw)
    assert (settlement.job_id, settlement.token) == (job.job_id, job.token)
    assert (State.RUNNING, settlement.state) in MOVES


@given(outcomes, policies, attempts, jitter)
def test_ac_30_a_requeued_job_has_a_time_and_a_final_one_has_none(
    outcome: Outcome | Failure, policy: RetryPolicy, attempt: int, throw: float
) -> None:
    settlement = settlement_of(held(attempt, policy.attempts), outcome, policy, NOW, throw)
    if settlement.state is State.QUEUED:
        assert settlement.run_at is not None
        assert settlement.run_at >= NOW
    else:
        assert settlement.state in FINAL
        assert settlement.run_at is None


@given(outcomes, policies, attempts, jitter)
def test_attempts_only_fall_when_the_attempt_did_not_count(
    outcome: Outcome | Failure, policy: RetryPolicy, attempt: int, throw: float
) -> None:
    settlement = settlement_of(held(attempt, policy.attempts), outcome, policy, NOW, throw)
    excused = isinstance(outcome, Snooze | Throttled | Unauthorised | CredentialsLost)
    assert settlement.attempt_delta == (-1 if excused else 0)


@given(policies, jitter)
def test_ac_12_fail_with_retry(policy: RetryPolicy, throw: float) -> None:
    """A passing failure is retried, with its error, while attempts are left (docs: seeds.md#003-36)."""
    for attempt in range(1, policy.attempts):
        settlement = settlement_of(held(attempt, policy.attempts), Transient("x"), policy, NOW, throw)
        assert (settlement.state, settlement.error is None) == (State.QUEUED, False)


@given(policies, jitter)
def test_ac_12_fail_exhausted(policy: RetryPolicy, throw: float) -> None:
    """The last attempt's failure is the job's end (docs: seeds.md#003-37)."""
    settlement = settlement_of(held(policy.attempts, policy.attempts), Transient("x"), policy, NOW, throw)
    assert (settlement.state, settlement.error is None) == (State.DEAD, False)


@pytest.mark.parametrize(
    ("failure", "state"),
    [
        (Permanent("x"), State.FAILED),
        (Gone("x"), State.FAILED),
        (Forbidden("x"), State.FAILED),
        (Invalid("f", "x"), State.DEAD),
        (Uncertain("x"), State.DEAD),
    ],
)
def test_what_no_retry_can_help_ends_at_once(failure: Failure, state: State) -> None:
    settlement = settlement_of(held(1), failure, POLICIES["standard"], NOW, 0.5)
    assert settlement.state is state
    assert settlement.error is not None


def test_a_lost_claim_is_given_back_under_its_token() -> None:
    job = held(1)
    settlement = settlement_of(job, ClaimLost("lost"), POLICIES["standard"], NOW, 0.5)
    assert (settlement.state, settlement.attempt_delta, settlement.token) == (State.QUEUED, -1, job.token)
    assert settlement.detail["cause"] == "margin"
    assert settlement.run_at == NOW + LEAST_REST, "a job that always loses its claim comes back at a bounded rate"


@given(jitter)
def test_a_throttled_job_waits_at_least_as_long_as_it_was_told_behind_a_gate(throw: float) -> None:
    failure = Throttled("slow", retry_after=timedelta(minutes=2), scope=Scope.ACCOUNT, provider="gmail")
    settlement = settlement_of(held(1), failure, POLICIES["standard"], NOW, throw)
    assert settlement.run_at is not None
    assert settlement.run_at >= NOW + timedelta(minutes=2)
    assert settlement.gate is not None
    assert (settlement.gate.scope, settlement.gate.key) == (Scope.ACCOUNT, "an-account")
    assert settlement.gate.until == NOW + timedelta(minutes=2)


@given(jitter, st.timedeltas(LONG_WAIT + timedelta(seconds=1), timedelta(days=32)))
def test_a_long_wait_is_the_gates_alone_for_a_person_may_end_it(throw: float, wait: timedelta) -> None:
    """A spent month is mended on its third day: the job that found it out goes on with the others."""
    failure = Throttled("spent", retry_after=wait, scope=Scope.PROVIDER, provider="anthropic")
    settlement = settlement_of(held(1), failure, POLICIES["standard"], NOW, throw)
    assert settlement.gate is not None
    assert settlement.gate.until == NOW + wait
    assert settlement.run_at is not None
    assert NOW + REST_BEHIND_GATE <= settlement.run_at <= NOW + REST_BEHIND_GATE + THROTTLE_JITTER


def test_lost_consent_parks_the_account_until_somebody_opens_it() -> None:
    settlement = settlement_of(held(1), Unauthorised("gone", account="acc"), POLICIES["standard"], NOW, 0.5)
    assert settlement.gate is not None
    assert (settlement.gate.key, settlement.gate.until) == ("acc", None)
    assert (settlement.attempt_delta, settlement.run_at) == (-1, NOW + LEAST_REST)


def test_lost_credentials_park_what_the_org_wants_of_the_provider() -> None:
    job = held(1)
    settlement = settlement_of(job, CredentialsLost("refused", provider="resend"), POLICIES["standard"], NOW, 0.5)
    assert settlement.gate is not None
    assert (settlement.gate.cause, settlement.gate.scope, settlement.gate.until) == (
        Cause.CONSENT, Scope.ORG_PROVIDER, None,
    )  # fmt: skip
    assert settlement.gate.key == f"{job.org_id}:resend"
    assert (settlement.state, settlement.attempt_delta, settlement.run_at) == (State.QUEUED, -1, NOW + LEAST_REST)


@pytest.mark.parametrize(
    "outcome",
    [
        Cancel("a\0b \udc80"),
        Snooze(LATER, "a\0b \udc80"),
        Permanent("a\0b \udc80", code="\udc80"),
        Throttled("a\0b \udc80", retry_after=timedelta(minutes=2), scope=Scope.ORG, provider="gmail"),
        Unauthorised("a\0b \udc80", account="an-account"),
    ],
    ids=lambda outcome: type(outcome).__name__,
)
def test_whatever_a_reason_says_it_can_be_kept(outcome: Outcome | Failure) -> None:
    settlement = settlement_of(held(1), outcome, POLICIES["standard"], NOW, 0.5)
    written = f"{settlement.reason}{settlement.detail}{settlement.error}{settlement.gate}"
    assert "ab \ufffd" in written
    assert written.isprintable()


def test_a_snooze_until_a_time_of_no_zone_is_refused() -> None:
    with pytest.raises(Invalid, match="until: "):
        settlement_of(held(1), Snooze(LATER.replace(tzinfo=None), "later"), POLICIES["standard"], NOW, 0.5)


@st.composite
def lost_claims(draw: st.DrawFn) -> LostClaim:
    """Every claim that can be lost: only what has begun can be guilty, and a deadline finds the process alive."""
    most = draw(st.integers(1, 6))
    began = draw(st.booleans())
    cause = draw(st.sampled_from(LossCause))
    return LostClaim(
        job_id=uuid4(),
        token=uuid4(),
        attempt=draw(st.integers(1 if began else 0, most)),
        max_attempts=most,
        losses=draw(st.integers(0, MAX_LOSSES - 1)),
        returns=draw(st.sampled_from([0, 1, MOST_RETURNS - 1, MOST_RETURNS])),
        began=began,
        alone=draw(st.booleans()),
        cause=cause,
        cancel_reason=draw(st.none() | st.just("enough")),
    )


@given(lost_claims())
def test_a_lost_claim_ends_in_a_state_of_the_table_and_names_its_claim(lost: LostClaim) -> None:
    settlement = lose_claim(lost)
    assert (settlement.job_id, settlement.token) == (lost.job_id, lost.token)
    assert (State.RUNNING if lost.began else State.CLAIMED, settlement.state) in MOVES
    assert settlement.detail["cause"] == lost.cause.value
    assert settlement.run_at is None, "a lost job is not made to wait"


@given(lost_claims())
def test_a_lost_claim_counts_a_loss_for_the_guilty_and_an_attempt_for_what_began(lost: LostClaim) -> None:
    settlement = lose_claim(lost)
    assert settlement.loss_delta == (1 if lost.guilty else 0)
    assert settlement.detail["losses"] == lost.losses + settlement.loss_delta
    excused = lost.began and not lost.guilty and lost.returns < MOST_RETURNS and lost.cancel_reason is None
    assert (settlement.attempt_delta, settlement.returns) == ((-1, 1) if excused else (0, 0))
    assert settlement.started_at is None
    assert settlement.suspect == (lost.cause is LossCause.LOST and settlement.state is State.QUEUED)


@given(lost_claims())
def test_a_lost_job_dies_of_its_last_attempt_or_its_last_loss_alone(lost: LostClaim) -> None:
    settlement = lose_claim(lost)
    last_attempt = lost.began and not lost.excused and lost.attempt == lost.max_attempts
    last_loss = lost.guilty and lost.losses == MAX_LOSSES - 1
    if lost.cancel_reason is not None:
        assert (settlement.state, settlement.reason) == (State.CANCELED, "enough")
    elif last_attempt or last_loss:
        assert settlement.state is State.DEAD
        assert settlement.error is not None
    else:
        assert settlement.state is State.QUEUED


@given(lost_claims())
def test_a_lost_job_is_poison_only_when_it_took_its_process_down_each_time(lost: LostClaim) -> None:
    error: JsonObject = lose_claim(lost).detail.get("error", {})
    if not lost.began:
        assert error == {}
    elif lost.cause is LossCause.DEADLINE:
        assert error["code"] == "deadline"
    elif lost.guilty and lost.losses == MAX_LOSSES - 1:
        assert error["code"] == "poison"
    else:
        assert error["code"] == "lost"


@pytest.mark.parametrize("guilty", [True, False])
def test_the_death_of_a_child_and_of_a_whole_process_are_one_rule(guilty: bool) -> None:
    job = held(2)
    lost = LostClaim(job.job_id, job.token, 2, 5, 0, 0, began=True, alone=guilty, cause=LossCause.LOST)
    assert lose(job, guilty=guilty) == lose_claim(lost)._replace(suspect=False), "the parent knows who it was"


def test_no_move_leaves_a_final_state_and_every_open_state_can_end() -> None:
    assert not [(before, after) for before, after in MOVES if before in FINAL]
    for state in set(State) - FINAL - {State.QUEUED}:
        assert {after for before, after in MOVES if before is state} >= FINAL - {State.SUCCEEDED}

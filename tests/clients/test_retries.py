"""When a request is tried again: decided from values, and seen at a gateway whose answers get lost."""

from uuid import UUID

import httpx
import pytest
from postroom_client import Client, Conversation, NotAnswered, PostroomError, Refused, Retries, TooManyRequests, calls
from postroom_client.calls import Call
from postroom_client.conversation import Pause
from postroom_client.retries import Outcome
from psycopg import Connection

from sandbox.emulator.fault_order import FaultOrder
from sandbox.servers.free_port import find_free_port
from tests.clients.conftest import QUICK
from tests.clients.lossy_gateway import LossyGateway
from tests.doubles import probe_jobs

NOOP = probe_jobs.noop.name
KEYED = Call[object]("POST", "/v1/jobs", lambda answer: answer, repeatable=True)
KEYLESS = Call[object]("POST", "/v1/jobs", lambda answer: answer)


def answered(status: int, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, headers=named, json={"code": "a_code"}, request=httpx.Request("POST", "http://x/"))


def next_step(call: Call[object], outcome: Outcome, conversation: Conversation | None = None) -> object:
    """What is done after a try: the pause in seconds, the answer, or the class of what is raised."""
    steps = (conversation or Conversation(luck=lambda: 0.0)).tried(call)
    assert next(steps) is call
    try:
        step = steps.send(outcome)
    except StopIteration as end:
        return end.value
    except PostroomError as raised:
        return type(raised), getattr(raised, "maybe_done", None)
    assert isinstance(step, Pause)
    assert next(steps) is call
    return step.seconds


NOT_DONE, MAYBE = (NotAnswered, False), (NotAnswered, True)


@pytest.mark.parametrize(
    ("outcome", "with_key", "without"),
    [
        (answered(201), {"code": "a_code"}, {"code": "a_code"}),
        *((answered(status), Refused, Refused) for status in (400, 401, 403, 404, 409, 413, 415, 422, 501)),
        *((answered(status), 0.25, MAYBE) for status in (500, 507, 520, 599)),
        (answered(408), 0.25, 0.25),
        (answered(429, Retry_After="7"), 7.0, 7.0),
        (answered(503, Retry_After="7"), 7.0, MAYBE),
        (answered(503, Retry_After="Sun, 06 Nov 1994 08:49:37 GMT"), 0.0, MAYBE),
        (answered(503, Retry_After="soon"), 0.25, MAYBE),
        (answered(502), 0.25, MAYBE),
        (answered(504), 0.25, MAYBE),
        (httpx.ConnectError("refused"), 0.25, 0.25),
        (httpx.ConnectTimeout("late"), 0.25, 0.25),
        (httpx.PoolTimeout("none is free"), 0.25, 0.25),
        (httpx.ReadTimeout("late"), 0.25, MAYBE),
        (httpx.WriteError("reset"), 0.25, MAYBE),
        (httpx.ReadError("reset"), 0.25, MAYBE),
        (httpx.RemoteProtocolError("gone"), 0.25, MAYBE),
        (httpx.DecodingError("no gzip"), 0.25, MAYBE),
    ],
    ids=str,
)
def test_the_policy(outcome: Outcome, with_key: object, without: object) -> None:
    for call, expected in ((KEYED, with_key), (KEYLESS, without)):
        found = next_step(call, outcome)
        if expected is Refused:
            assert isinstance(found, tuple)
            assert issubclass(found[0], Refused)
        else:
            assert found == expected


def test_waits_double_up_to_a_bound_and_end() -> None:
    steps = Conversation(Retries(tries=8, longest_wait_s=5), luck=lambda: 1.0, clock=lambda: 0.0).tried(KEYED)
    waits: list[float] = []
    outcome: Outcome | None = None
    with pytest.raises(NotAnswered, match="503 a_code; the request may have been carried out"):
        while True:
            step = steps.send(outcome)
            if isinstance(step, Pause):
                waits.append(step.seconds)
            outcome = None if isinstance(step, Pause) else answered(503)
    assert waits == [0.5, 1, 2, 4, 5, 5, 5]


def test_a_try_that_may_have_been_carried_out_is_not_forgotten() -> None:
    steps = Conversation(Retries(tries=2), luck=lambda: 0.0).tried(KEYED)
    next(steps)
    steps.send(httpx.ReadTimeout("late"))
    next(steps)
    with pytest.raises(NotAnswered) as given_up:
        steps.send(answered(429))
    assert given_up.value.maybe_done


def test_who_waits_for_an_end_waits_no_longer_for_an_answer() -> None:
    steps = Conversation(luck=lambda: 0.0, clock=lambda: 0.0).until_ended(calls.job(UUID(int=1)), 1.0, None)
    next(steps)
    with pytest.raises(NotAnswered):
        steps.send(answered(503, Retry_After="2"))


def test_no_wait_begins_that_would_end_too_late() -> None:
    within = Conversation(Retries(within_s=60), luck=lambda: 0.0, clock=lambda: 0.0)
    assert next_step(KEYED, answered(429, Retry_After="60"), within) == 60
    assert next_step(KEYED, answered(429, Retry_After="61"), within) == (TooManyRequests, None)
    assert next_step(KEYED, answered(503, Retry_After="61"), within) == MAYBE


@pytest.mark.parametrize(
    ("order", "reached"),
    [
        (FaultOrder(drop="after"), 2),
        (FaultOrder(drop="after", times=3), 4),
        (FaultOrder(drop="before"), 1),
        (FaultOrder(ending="cut"), 2),
        (FaultOrder(ending="reset"), 2),
        (FaultOrder(status=503, headers={"Retry-After": "0"}), 1),
        (FaultOrder(status=503, headers={"Retry-After": "0"}, after_execution=True), 2),
        (FaultOrder(status=502, after_execution=True, text="<h1>Bad Gateway</h1>"), 2),
        (FaultOrder(status=500, after_execution=True, body={"code": "defect"}), 2),
        (FaultOrder(status=520, after_execution=True, text=""), 2),
        (FaultOrder(status=201, after_execution=True, text="no gzip", headers={"Content-Encoding": "gzip"}), 2),
        (FaultOrder(status=429, headers={"Retry-After": "0"}, times=2), 1),
    ],
    ids=lambda value: str(value) if isinstance(value, int) else None,
)
def test_a_request_that_was_lost_makes_one_job(
    lossy: LossyGateway, lossy_client: Client, database: Connection, order: FaultOrder, reached: int
) -> None:
    lossy.faults.order(order)
    made = lossy_client.enqueue(NOOP, {}, key="k")
    assert database.execute("select array_agg(id) from jobs").fetchone() == ([made.job_id],)
    assert made.replayed == (reached > 1)
    assert len(lossy.reached) == reached
    assert {call.body for call in lossy.reached} == {lossy.reached[0].body}


def test_without_a_key_nothing_is_done_twice(lossy: LossyGateway, lossy_client: Client, database: Connection) -> None:
    lossy.faults.order(FaultOrder(drop="after"))
    with pytest.raises(NotAnswered) as lost:
        lossy_client.enqueue(NOOP, {})
    assert lost.value.maybe_done
    assert isinstance(lost.value.__cause__, httpx.TransportError)
    assert len(lossy.reached) == 1
    lossy.faults.order(FaultOrder(status=429, headers={"Retry-After": "0"}))
    assert lossy_client.enqueue(NOOP, {}).created
    assert database.execute("select count(*) from jobs").fetchone() == (2,)


def test_a_defect_is_no_refusal_and_its_request_can_be_found(
    lossy: LossyGateway, lossy_client: Client, database: Connection
) -> None:
    defect = {"code": "defect", "request_id": "r-1"}
    lossy.faults.order(FaultOrder(status=500, after_execution=True, body=defect))
    with pytest.raises(NotAnswered, match="500 defect; the request may have been carried out") as failed:
        lossy_client.enqueue(NOOP, {})
    assert database.execute("select count(*) from jobs").fetchone() == (1,)
    assert isinstance(failed.value.__cause__, Refused)
    assert failed.value.__cause__.request_id == "r-1"


def test_a_definite_answer_is_asked_for_once(lossy: LossyGateway, lossy_client: Client) -> None:
    for status in (403, 409, 422, 501):
        lossy.faults.order(FaultOrder(status=status))
        with pytest.raises(Refused) as refused:
            lossy_client.enqueue(NOOP, {}, key="k")
        assert refused.value.status == status
    assert lossy.reached == []


def test_a_look_and_a_cancel_are_tried_again(lossy: LossyGateway, lossy_client: Client) -> None:
    made = lossy_client.enqueue(NOOP, {}, key="k")
    lossy.faults.order(FaultOrder(method="GET", drop="after"))
    assert lossy_client.job(made.job_id).state == "queued"
    lossy.faults.order(FaultOrder(method="POST", drop="after"))
    assert lossy_client.cancel(made.job_id).state == "canceled"


def test_events_and_runs_have_keys_of_their_own(lossy: LossyGateway, lossy_client: Client) -> None:
    with pytest.raises(Refused):
        lossy_client.start_run("nowhere", key="run-1")
    with pytest.raises(Refused):
        lossy_client.send_event(UUID(int=0), "go", key="event-1")
    assert [call.headers["idempotency-key"] for call in lossy.reached] == ["run-1", "event-1"]


def test_a_gateway_that_is_away_is_no_refusal() -> None:
    with (
        Client(f"http://127.0.0.1:{find_free_port()}", "sk-postroom-x", conversation=QUICK) as client,
        pytest.raises(NotAnswered, match="was not carried out") as away,
    ):
        client.enqueue(NOOP, {}, key="k")
    assert not away.value.maybe_done

"""What a handler may return or raise that nobody expects: it ends its own job, and keeps no other from its end."""

from collections import Counter
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.failures import Permanent, Transient
from domain.jobs.job import Cancel, ClaimedJob, Done, Outcome, Snooze, State
from domain.jobs.lifecycle import Settlement
from domain.jobs.results import LARGEST_KEPT
from domain.jobs.scheduling.backlog_demand import BacklogKey
from engine.broker.hints import demand_message
from engine.catalogue import catalogue
from engine.runtime import Runtime
from engine.worker.execution import Report
from engine.worker.loop import LedgerLoop
from storage.jobs import ledger
from storage.postgres.execution import ConnectionLost, DatabaseUnavailable, StatementAborted
from tasks import celery as app
from tests.domain.test_clean_text import Why
from tests.doubles.factories import make_job_type, make_org
from tests.doubles.inline_worker import run_claimed
from tests.engine.worker.test_loop import Broker, fill, make_loop

TYPE = "probe_jobs.noop"
ODD = "subject \0 \udce4"
"""Half of a pair, as Python makes of a letter that it cannot decode, and what PostgreSQL never stores."""


@pytest.fixture
def org(database: Connection, process: Runtime) -> UUID:
    make_job_type(process.database, TYPE)
    return make_org(database)


def claim(process: Runtime, org: UUID, count: int) -> tuple[LedgerLoop, list[ClaimedJob]]:
    """A loop that has claimed so many jobs, and handed them to its pool."""
    fill(process, org, count)
    loop, consumer = make_loop(process)
    loop.received(Broker().message(demand_message({BacklogKey("default", 0, org): count})))
    loop.turn()
    return loop, consumer.pool.taken


def report_of(job: ClaimedJob, outcome: Outcome | Exception | str | None) -> Report:
    """What the pool reports of a handler that returns or raises this."""
    job_type = catalogue.find(TYPE)
    assert job_type is not None

    def handle(*_: object) -> Outcome | None:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome  # type: ignore[return-value] # a str is what mypy would refuse

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(app.tasks[TYPE]), "job_type", replace(job_type, handler=handle))
        return run_claimed(job)


def ends(database: Connection) -> dict[UUID, tuple[str, str | None]]:
    """How each of the jobs stands, and why."""
    rows = database.execute("select id, state, error ->> 'reason' from jobs where job_type = %s", (TYPE,))
    return {job_id: (state, reason) for job_id, state, reason in rows}


@pytest.mark.parametrize(
    ("outcome", "state", "reason"),
    [
        (Done(Counter(a=1)), "succeeded", None),
        (None, "succeeded", None),
        ("done", "queued", "TypeError: the handler returned str, which is no outcome"),
        (Done([1]), "dead", "output: is no JSON object"),  # type: ignore[arg-type] # what mypy would refuse
        (Done({"a": ODD}), "dead", "output: carries a NUL or half a character, which PostgreSQL cannot store"),
        (Done({"a": "\udce4"}), "dead", None),
        (
            Done({"a": "x" * LARGEST_KEPT}),
            "dead",
            f"output: has more than {LARGEST_KEPT} bytes; what is larger is an artifact",
        ),
        (Cancel(Why.OLD), "canceled", None),
        (Cancel(ODD), "canceled", None),
        (Snooze(datetime(2099, 1, 1), "later"), "dead", "until: has no time zone"),  # noqa: DTZ001 - the point
        (Permanent(ODD), "failed", "subject  \ufffd"),
        (Transient(ODD), "queued", "subject  \ufffd"),
        (ValueError(ODD), "queued", None),
    ],
    ids=lambda given: f"{type(given).__name__}" if isinstance(given, Done | Cancel | Snooze | Exception) else None,
)
def test_ac_17_handler_exception_isolated(
    process: Runtime, org: UUID, database: Connection, outcome: Outcome | Exception, state: str, reason: str | None
) -> None:
    """An odd outcome ends its own job and no other's (docs: seeds.md#003-44)."""
    loop, (odd, *others) = claim(process, org, 3)
    loop.deliver([report_of(odd, outcome)])
    loop.deliver([report_of(other, Done()) for other in others])
    loop.turn()
    assert loop.idle
    ended = ends(database)
    assert [ended[other.job_id] for other in others] == [("succeeded", None)] * 2
    assert ended[odd.job_id][0] == state
    assert reason is None or str(ended[odd.job_id][1]).startswith(reason)


@pytest.mark.parametrize(
    ("failure", "spent"), [(DatabaseUnavailable("-"), 0), (ConnectionLost("-"), 0), (StatementAborted("-"), 1)]
)
def test_a_session_that_was_lost_spends_no_attempt_and_a_statement_that_was_ended_does(
    process: Runtime, org: UUID, database: Connection, failure: DatabaseUnavailable, spent: int
) -> None:
    loop, (job,) = claim(process, org, 1)
    loop.deliver([report_of(job, failure)])
    loop.turn()
    assert database.execute("select state, attempt from jobs").fetchall() == [("queued", spent)]


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ({"reason": "\udce4", "state": "canceled"}, "text: carries a character that PostgreSQL cannot store"),
        ({"run_at": datetime(2099, 1, 1), "state": "queued"}, "outcome: cannot be written: TypeError"),  # noqa: DTZ001 - the point
        ({"error": {"reason": "\0"}, "state": "failed"}, "text: carries a character that PostgreSQL cannot store"),
    ],
    ids=["Python cannot", "a time of no zone", "PostgreSQL cannot"],
)
def test_a_settlement_that_cannot_be_written_becomes_a_failure_that_can(
    process: Runtime, org: UUID, database: Connection, broken: dict[str, Any], reason: str
) -> None:
    """Whatever slipped past the pool."""
    loop, jobs = claim(process, org, 3)
    done = [Settlement(job.job_id, job.token, State.SUCCEEDED, output={}) for job in jobs]
    done[1] = done[1]._replace(output=None, **(broken | {"state": State(broken["state"])}))
    loop.deliver([Report(one.job_id, one.token, "x", one, 0.1) for one in done])
    loop.turn()
    assert loop.idle
    assert ends(database) == {
        jobs[0].job_id: ("succeeded", None),
        jobs[1].job_id: ("dead", reason),
        jobs[2].job_id: ("succeeded", None),
    }


def test_a_claim_whose_answer_cannot_be_read_is_given_back(
    process: Runtime, org: UUID, database: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim_whole = ledger.claim

    def unreadable(*given: Any, **options: Any) -> Any:  # noqa: ANN401 - the ledger's own
        claim_whole(*given, **options)
        raise ValueError("no such year")

    fill(process, org, 2)
    loop, consumer = make_loop(process)
    loop.received(Broker().message(demand_message({BacklogKey("default", 0, org): 2})))
    with monkeypatch.context() as broken:
        broken.setattr(ledger, "claim", unreadable)
        with pytest.raises(ValueError, match="no such year"):
            loop.turn()
    loop.turn()
    assert len(consumer.pool.jobs) == 2
    assert database.execute("select state, attempt from jobs").fetchall() == [("claimed", 0)] * 2

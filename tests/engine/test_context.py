"""What a handler's context gives, and what it keeps back: the ledger's role and the settings of the database."""

import time
from collections.abc import Iterator
from dataclasses import fields
from itertools import count, pairwise
from typing import get_type_hints
from uuid import UUID

import pytest
from psycopg import Connection
from structlog.testing import capture_logs

from domain.jobs.failures import Forbidden, Invalid, Throttled
from domain.jobs.job import SYSTEM_ORG, Origin
from domain.jobs.retention import MOST_BATCHES_PER_S, RUN
from engine.app import publish_catalogue
from engine.broker.publisher import Publisher
from engine.context import JobContext
from engine.handler_settings import HandlerSettings
from engine.interrupts import Canceled
from engine.runtime import Runtime
from settings import Settings
from storage.postgres.database import Database
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_project
from tests.house.reading import ROOMS, SINGLE_FILES, belongs

FORBIDDEN = (Runtime, Database, Settings, Publisher)


class LeakyContext(JobContext):
    """A context with a way to the ledger's database."""

    @property
    def process(self) -> Runtime:
        return self._runtime


class CountingContext(JobContext):
    """A context that counts how often the database is asked."""

    asked = 0

    def check(self) -> None:
        self.asked += 1
        super().check()


def context(process: Runtime, org: UUID, made: type[JobContext] = JobContext) -> JobContext:
    make_job_type(process.database, "probe.run")
    return made(process, claim_one(process.database, enqueue_one(process.database, org)))


def forbidden_paths(value: object, path: str, seen: dict[int, object]) -> Iterator[str]:
    """Where the public attributes of our own objects lead to what only the engine may hold."""
    if isinstance(value, FORBIDDEN):
        yield path
        return
    if id(value) in seen or not belongs(type(value).__module__, [*ROOMS, *SINGLE_FILES]):
        return
    seen[id(value)] = value
    for name in dir(value):
        if not name.startswith("_"):
            yield from forbidden_paths(getattr(value, name), f"{path}.{name}", seen)


def test_no_attribute_of_a_context_leads_to_the_ledgers_database(process: Runtime, org: UUID) -> None:
    ctx = context(process, org)
    with ctx.tx() as tx:
        assert list(forbidden_paths(ctx, "ctx", {})) == []
        assert list(forbidden_paths(tx, "tx", {})) == []
        assert list(forbidden_paths(ctx.begin_effect(tx, "send:1"), "effect", {})) == []


def test_a_loop_that_checks_often_asks_once_a_second_and_stops_when_canceled(
    process: Runtime, org: UUID, database: Connection
) -> None:
    make_job_type(process.database, "probe.run")
    job_id = enqueue_one(process.database, org)
    ctx, began = CountingContext(process, claim_one(process.database, job_id)), process.monotonic()
    for _ in range(10_000):
        ctx.check_often()
    assert 1 <= ctx.asked <= 1 + process.monotonic() - began
    database.execute("update jobs set cancel_requested_at = now(), cancel_reason = 'not wanted'")
    with pytest.raises(Canceled):
        JobContext(process, ctx.job).check_often()


def test_each_record_of_a_job_names_the_job_its_request_and_whose_it_is(
    process: Runtime, org: UUID, database: Connection
) -> None:
    make_job_type(process.database, "probe.run")
    project, origin = make_project(database, org), Origin(actor_id="u", request_id="r-1", correlation_id="c-1")
    job_id = enqueue_one(process.database, org, project_id=project, origin=origin)
    with capture_logs() as records:
        JobContext(process, claim_one(process.database, job_id)).log.info("done")
    names = {"job_id": str(job_id), "job_type": "probe.run", "org_id": str(org), "project_id": str(project)}
    assert records[0].items() >= (names | {"attempt": 1, "request_id": "r-1", "correlation_id": "c-1"}).items()


def test_a_way_to_the_ledgers_database_is_found(process: Runtime, org: UUID) -> None:
    assert list(forbidden_paths(context(process, org, LeakyContext), "ctx", {})) == ["ctx.process"]


def test_a_handlers_transaction_is_the_tenants(process: Runtime, org: UUID) -> None:
    with context(process, org).tx() as tx:
        assert tx.raw("select current_user, session_user")[0] == ("postroom_tenant", "postroom_tenant")


def test_only_the_system_org_looks_across_orgs(process: Runtime, org: UUID) -> None:
    ctx = context(process, org)
    with pytest.raises(Forbidden), ctx.fleet():
        pass
    with context(process, SYSTEM_ORG).fleet() as tx:
        assert tx.raw("select current_user")[0] == ("postroom_ledger",)


def test_a_handler_reads_the_settings_of_its_providers_only(process: Runtime, org: UUID) -> None:
    ctx = context(process, org)
    ours = get_type_hints(HandlerSettings)
    properties = {name: one.fget for name, one in vars(Settings).items() if isinstance(one, property)}
    theirs = get_type_hints(Settings) | {name: get_type_hints(get)["return"] for name, get in properties.items()}
    assert ours == {name: theirs[name] for name in ours}
    assert {one.name: getattr(ctx.settings, one.name) for one in fields(ctx.settings)} == {
        name: getattr(process.settings, name) for name in ours
    }
    secrets = {"database_url", "ledger_database_url", "tenant_database_url"}
    secrets |= {"auditor_database_url", "watch_database_url"}
    secrets |= {"broker_url", "sealing_keys", "limits_url"}
    assert not secrets & set(ours)


def test_a_context_counts_calls_where_its_process_does(process: Runtime, org: UUID) -> None:
    process.settings = process.settings.model_copy(update={"rate_limits": {"anthropic.requests": 1}})
    ctx = context(process, org)
    ctx.meter("anthropic")("messages.create", 1)
    with pytest.raises(Throttled):
        process.meters.meter("anthropic")("messages.create", 1)


def test_jobs_of_one_process_share_an_object(process: Runtime, org: UUID) -> None:
    first = context(process, org).shared("client", object)
    assert context(process, org).shared("client", object) is first


def test_a_step_cannot_cost_less_than_nothing(process: Runtime, org: UUID) -> None:
    ctx = context(process, org)
    with pytest.raises(Invalid, match="cost: is below zero"):
        ctx.step("ask", lambda: {"cost": -5}, cost=lambda answer: answer["cost"])
    assert ctx.cost_microcents == 0


def test_no_worker_starts_whose_jobs_would_have_no_time_for_a_call(process: Runtime) -> None:
    process.settings = process.settings.model_copy(update={"provider_call_limit_s": 115.0})
    with pytest.raises(Invalid, match=r"provider_call_limit_s: .*120 s"):
        publish_catalogue()


def test_progress_inside_writes_is_refused_at_once(process: Runtime, org: UUID) -> None:
    """It would wait for the row that its own transaction locks, until the statement's time is over."""
    ctx = context(process, org)
    ctx.is_committing = True
    with pytest.raises(Invalid, match="progress: "):
        ctx.progress({"half": True})


def test_batches_of_maintenance_begin_at_their_rate_until_none_is_left(process: Runtime, org: UUID) -> None:
    ctx, began = context(process, org), []

    def batch() -> bool:
        began.append(time.monotonic())
        return len(began) < 3

    assert not ctx.at_pace(batch)
    assert [after - before >= 0.9 / MOST_BATCHES_PER_S for before, after in pairwise(began)] == [True, True]


def test_a_run_of_maintenance_ends_with_its_time_and_says_that_there_is_more(process: Runtime, org: UUID) -> None:
    ctx, looks = context(process, org), count()
    now = process.clock()
    process.clock = lambda: now + next(looks) * RUN
    assert ctx.at_pace(lambda: True)

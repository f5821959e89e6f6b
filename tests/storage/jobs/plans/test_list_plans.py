"""Every list reads a bounded part of a ledger with a million jobs, whoever asks, though it finds nothing to show."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import Connection

from domain.jobs.job import State
from domain.jobs.job_ids import first_job_id
from domain.jobs.monitoring.job_filter import MOST_IDS, JobFilter
from domain.jobs.monitoring.why import MOST_COUNTED
from domain.jobs.queues import Queue
from storage.approvals import rulings
from storage.jobs.audit_log.history import MOST_ZONES
from storage.jobs.job_views import (
    FIRST_ID,
    MOST_CHILDREN,
    MOST_EVENTS,
    MOST_LOOKED_AT,
    MOST_UNFINISHED,
    SHOWN,
    conditions,
)
from storage.postgres.looking import FIRST_TIME, LAST_TIME
from storage.postgres.queries import statement
from storage.search import MOST_OF_A_KIND
from tests.servers.servers import SessionServers
from tests.storage.jobs.plans.explained import indexes, nodes, plans_of
from tests.storage.jobs.plans.million import FILL_LISTS, ORGS, million_url

BIG = {"jobs", "audit_entries", "idempotency_keys"}
MOST = MOST_LOOKED_AT[-1]
MOST_ROWS = MOST + MOST // 4 + 100
"""Rows that one statement may look at, those that it passes over included."""
MOST_BUFFERS = 5_000
"""Pages that one statement may look at."""


@pytest.fixture(scope="module")
def million(servers: SessionServers) -> Iterator[Connection]:
    with psycopg.connect(million_url(servers)) as owner:
        owner.execute("set session_replication_role = replica")
        owner.execute(ORGS.encode())
        owner.execute(FILL_LISTS.encode())
        owner.execute("set session_replication_role = origin")
        owner.execute("set auto_explain.log_analyze = on; set auto_explain.log_buffers = on")
        yield owner
        owner.rollback()


@pytest.fixture(autouse=True)
def undone(million: Connection) -> Iterator[None]:
    """What a test sets, an org put on or a planner's mode, ends with the test; what fills the ledger stays."""
    with million.transaction(force_rollback=True):
        yield


def org_named(million: Connection, name: str) -> UUID:
    return UUID(str(million.execute("select id from orgs where name = %s", (name,)).fetchone()[0]))  # type: ignore[index] # one row


NOW = datetime.now(UTC) + timedelta(minutes=1)
NEWEST = {"before": NOW, "before_id": first_job_id(NOW), "last_id": FIRST_ID}
PAGE = {"at": LAST_TIME, "last_id": FIRST_ID, "limit": 51}
LETTERS = PAGE | {"job_type": None, "code": None}
FEW = {"source": "unfinished", "most": MOST_UNFINISHED}
EVERYWHERE = {"from_ids": [FIRST_ID], "to_ids": [first_job_id(LAST_TIME)]}
"""The ids of the zones of a list that looks at all jobs."""
ANY_JOB = conditions(JobFilter(job_types=("no.such",))) | {"limit": 51}
SOUGHT = {"text": "<none@mail.example.org>", "most": MOST_OF_A_KIND, "shown": 100}

NONE_SUCH = {
    "source": "ids",
    "after_id": FIRST_ID,
    "upto": first_job_id(NOW),
    "passed_id": FIRST_ID,
    "since_id": FIRST_ID,
    "frozen_at": NOW,
    "most": MOST,
    **conditions(JobFilter(job_types=("no.such",), states=(State.SUCCEEDED, State.DEAD), payload=("n=none",))),
}
"""A filter that matches nothing, so that all of a look is read."""
FEW_UNFINISHED = {"source": "unfinished", "most": 1_000}
NAMED = {"job_ids": [uuid4() for _ in range(MOST_IDS)]}


def looked_at(million: Connection, source: str) -> dict[str, Any]:
    """A page of jobs of a type that none has, down to where the look ends."""
    look_back = "look_back_at_troubled_jobs" if source == "troubled" else "look_back_at_jobs"
    reached = million.execute(statement(look_back).encode(), NEWEST | EVERYWHERE | {"most": MOST}).fetchone()
    upto = reached[0] if reached and source != "held" else None
    return (
        ANY_JOB
        | NEWEST
        | EVERYWHERE
        | {"source": source, "upto": upto or FIRST_TIME, "upto_id": first_job_id(upto) if upto else FIRST_ID}
    )


def in_zones(million: Connection) -> dict[str, Any]:
    """A page of jobs of a type that few have, in a hundred spans of ten minutes; of a payload that none has."""
    ends = [NOW - timedelta(minutes=90 * n) for n in range(1, 101)]
    zones = {
        "from_ids": [first_job_id(end - timedelta(seconds=15)) for end in ends],
        "to_ids": [first_job_id(end) for end in ends],
    }
    asked = NEWEST | zones | {"most": MOST}
    reached = (million.execute(statement("look_back_at_jobs").encode(), asked).fetchone() or (None,))[0]
    assert reached is not None
    found = conditions(JobFilter(job_types=("no.such",), payload=("account_id=7",)))
    return ANY_JOB | found | asked | {"source": "newest", "upto": reached, "upto_id": first_job_id(reached)}


def a_parent(million: Connection) -> UUID:
    return UUID(str(million.execute("select min(parent_id::text) from jobs where parent_id is not null").fetchone()[0]))  # type: ignore[index] # one row


ZONES = {
    "of_type": "probe.rare",
    "before": NOW,
    "minutes_since": NOW - timedelta(days=3),
    "tens_since": NOW - timedelta(days=35),
    "most": MOST_ZONES,
}
A_DAY = {"since": NOW - timedelta(days=1), "before": NOW, "step": timedelta(minutes=1), "span": 1}
SUMS = {
    "of_org": None,
    "by": "type",
    "since": NOW - timedelta(days=30),
    "before": NOW,
    "most": 10_000,
    "limit": 100,
}
COSTS = {
    "of_org": None,
    "since": NOW - timedelta(days=30),
    "before": NOW,
    "of_type": None,
    "limit": 51,
} | dict.fromkeys(("after_hour", "after_org_id", "after_job_type"))
KINDS = {"limit": 51} | dict.fromkeys(("state", "code", "job_type", "since", "after_last_seen", "after_fingerprint"))
WAITING = {
    "scheduled": "run_at > now()",
    "deep": "backlog_since is not null order by backlog_since desc",
    "gated": "parked_by like 'gate:%' order by run_at desc",
    "serial": "parked_by like 'key:%' order by run_at desc",
    "running": "state = 'running'",
    "finished": "finished_at is not null",
}
"""One job of each waiting state; of those in lines the last."""


def a_waiting(million: Connection, kind: str) -> dict[str, Any]:
    found = million.execute(f"select id from jobs where foreign_at is null and {WAITING[kind]} limit 1".encode())
    return {"job_id": found.fetchone()[0]}  # type: ignore[index] # one row


Given = dict[str, Any] | Callable[[Connection], dict[str, Any]]


def none_of_org(million: Connection) -> dict[str, Any]:
    """The same of an org that has more than one look takes, and as many as other orgs have."""
    return NONE_SUCH | {"source": "of_org", "org_id": org_named(million, "tenant 7")}


LISTS: dict[str, tuple[str, Given, str]] = {
    "jobs": ("list_jobs", partial(looked_at, source="newest"), "jobs_pkey"),
    "jobs with ids of their own": ("list_jobs", partial(looked_at, source="newest"), "jobs_foreign"),
    "jobs in zones": ("list_jobs", in_zones, "jobs_pkey"),
    "how far zones reach": ("look_back_at_jobs", in_zones, "jobs_pkey"),
    "zones of a type": ("list_job_zones", ZONES, "job_minutes_pkey"),
    "history of a day": ("list_job_history", A_DAY | {"job_types": None, "queues": None}, ""),
    "history of the queues": ("list_queue_history", A_DAY | {"queues": list(Queue)}, ""),
    "depths of the queues": ("list_queue_depths", {"queues": list(Queue)}, "queue_samples_pkey"),
    "costs of orgs": ("list_org_hours", COSTS, "org_hours_in_order"),
    "workers": ("list_workers", {"after_lease_until": None, "after_worker_id": None, "limit": 51}, "jobs_next_check"),
    "sums of costs": ("sum_org_hours", SUMS, ""),
    "kinds of failure": ("list_failure_groups", KINDS, ""),
    "held jobs": ("list_jobs", partial(looked_at, source="held"), "jobs_next_check"),
    "how far jobs reach": ("look_back_at_jobs", NEWEST | EVERYWHERE | {"most": MOST}, "jobs_pkey"),
    "whether few are unfinished": (
        "are_few_unfinished",
        {"source": "unfinished", "most": MOST_UNFINISHED},
        "jobs_backlog",
    ),
    "children": (
        "list_children",
        lambda m: {"parent_id": a_parent(m), "after_job_id": None, "limit": 51},
        "jobs_parent",
    ),
    "a job": (
        "show_job",
        lambda m: {"job_id": a_parent(m), "shown": SHOWN, "most_events": MOST_EVENTS, "most_children": MOST_CHILDREN},
        "audit_entries_job",
    ),
    "open letters": ("list_open_letters", PAGE, "dead_letters_open"),
    "how far letters reach": ("look_back_at_dead_letters", PAGE | {"most": MOST}, "dead_letters_newest"),
    "replayed letters": (
        "list_dead_letters",
        LETTERS | {"reached": datetime.now(UTC) - timedelta(minutes=MOST // 9), "state": "replayed"},
        "",
    ),
    "how far effects reach": (
        "look_back_at_unknown_effects",
        {"at": LAST_TIME, "most": rulings.MOST_LOOKED_AT},
        "idempotency_keys_unknown",
    ),
    "unknown effects": (
        "list_unknown_effects",
        {
            "at": LAST_TIME,
            "tiebreak": UUID(int=0),
            "reached": datetime.now(UTC) - timedelta(seconds=2 * rulings.MOST_LOOKED_AT),
            "org_id": uuid4(),
            "limit": 51,
        },
        "",
    ),
    **{f"why a {kind} job waits": ("why_of_job", partial(a_waiting, kind=kind), "") for kind in WAITING},
    "what has an id": ("search", SOUGHT | {"id": uuid4(), "org_id": None}, "audit_entries_correlation"),
    "jobs of a bulk action": ("match_jobs", NONE_SUCH | {"limit": 200}, "jobs_pkey"),
    "how many jobs of a bulk action": ("count_jobs", NONE_SUCH, "jobs_pkey"),
    "jobs of an org's bulk action": ("match_jobs", lambda m: none_of_org(m) | {"limit": 200}, "jobs_troubled"),
    "how many jobs of an org's bulk action": ("count_jobs", none_of_org, "jobs_troubled"),
    "how far a look at an org's jobs reaches": ("reach_of_jobs", none_of_org, "jobs_troubled"),
    "letters of an org's bulk action": (
        "match_letters",
        lambda m: none_of_org(m) | {"limit": 200},
        "dead_letters_of_org",
    ),
    "how many letters of an org's bulk action": ("count_letters", none_of_org, "dead_letters_of_org"),
    "how far a look at an org's letters reaches": ("reach_of_letters", none_of_org, "dead_letters_of_org"),
    "unfinished jobs of a bulk action": ("match_jobs", NONE_SUCH | FEW_UNFINISHED | {"limit": 200}, "jobs_backlog"),
    "letters of a bulk action": ("match_letters", NONE_SUCH | {"limit": 200}, "dead_letters_pkey"),
    "how many letters of a bulk action": ("count_letters", NONE_SUCH, "dead_letters_pkey"),
    "jobs of a trace": (
        "list_jobs",
        lambda m: looked_at(m, "newest") | {"job_types": None, "trace_id": "0" * 32},
        "jobs_pkey",
    ),
    "single jobs": ("list_jobs", lambda m: looked_at(m, "named") | NAMED, "jobs_pkey"),
    "single jobs of a bulk action": ("match_jobs", NONE_SUCH | NAMED | {"source": "named", "limit": 200}, "jobs_pkey"),
    "single letters of a bulk action": ("match_letters", NONE_SUCH | NAMED | {"limit": 200}, "one_letter_per_job"),
    "what people did": ("list_other_events", {"before": 2**62, "limit": 51}, "audit_entries_deeds"),
}
OF_AN_ORG: dict[str, tuple[str, Given, str]] = {
    "jobs": ("list_jobs", partial(looked_at, source="newest"), "jobs_pkey"),
    "troubled jobs": ("list_jobs", partial(looked_at, source="troubled"), "jobs_troubled"),
    "how far troubled jobs reach": ("look_back_at_troubled_jobs", NEWEST | {"most": MOST}, "jobs_troubled"),
    "how far jobs reach": ("look_back_at_jobs", NEWEST | EVERYWHERE | {"most": MOST}, "jobs_pkey"),
    "whether few are unfinished": ("are_few_unfinished", FEW, "jobs_backlog"),
    "zones": ("list_job_zones", ZONES | {"of_type": None}, ""),
    "zones of a type": ("list_job_zones", ZONES, "org_hours_of_type"),
    "letters": ("list_dead_letters", LETTERS | {"reached": FIRST_TIME, "state": None}, "dead_letters_of_org"),
    "what has an id": (
        "search",
        lambda m: SOUGHT | {"id": a_parent(m), "org_id": org_named(m, "tenant 7")},
        "audit_entries_correlation",
    ),
    "what people did": ("list_other_events_of_org", {"before": 2**62, "limit": 51}, "audit_entries_other"),
}  # fmt: skip


PUT_ON = (
    "select set_config('postroom.org', %(org)s, true), set_config('postroom.org_seal', postroom.seal_of(%(org)s), true)"
)


def check(million: Connection, listed: tuple[str, Given, str], mode: str, *, org: str | None) -> None:
    name, given, index = listed
    parameters = given if isinstance(given, dict) else given(million)
    million.execute(f"set local plan_cache_mode = {mode}".encode())
    with plans_of(million) as reported, million.transaction() if org else nullcontext():
        if org:
            million.execute(PUT_ON.encode(), {"org": str(org_named(million, org))})
            million.execute("set local role postroom_tenant")
        reported.clear()
        million.execute(statement(name).encode(), parameters, prepare=True)
        million.execute("select 1")
        million.execute("set local role none")
    ran = [node for one in reported for node in nodes(one["Plan"]) if node["Actual Loops"]]
    scanned = [node for node in ran if node.get("Relation Name") in BIG and "Seq Scan" in node["Node Type"]]
    assert not [(one["Relation Name"], one.get("Filter")) for one in scanned]
    assert index in indexes(reported) | {""}, indexes(reported)
    passed = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck")
    looked = [
        (node.get("Index Name"), sum(node.get(rows, 0) for rows in passed) * node["Actual Loops"])
        for node in ran
        if node.get("Relation Name") in BIG
    ]
    assert max((rows for _, rows in looked), default=0) <= MOST_ROWS, looked
    assert max(node["Shared Hit Blocks"] + node["Shared Read Blocks"] for node in ran) < MOST_BUFFERS


@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize("kind", LISTS)
def test_a_list_of_all_orgs_reads_a_bounded_part(million: Connection, kind: str, mode: str) -> None:
    check(million, LISTS[kind], mode, org=None)


@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize("org", ["tenant 7", "tenant 8"])
@pytest.mark.parametrize("kind", OF_AN_ORG)
def test_a_list_of_an_org_reads_a_bounded_part(million: Connection, kind: str, mode: str, org: str) -> None:
    check(million, OF_AN_ORG[kind], mode, org=org)


@pytest.mark.parametrize("kind", WAITING)
@pytest.mark.parametrize("of_tenant", [False, True])
def test_why_a_job_waits_looks_at_few_rows(million: Connection, kind: str, of_tenant: bool) -> None:
    job = a_waiting(million, kind)
    org = million.execute("select org_id from jobs where id = %(job_id)s", job).fetchone()
    with plans_of(million) as reported, million.transaction():
        if of_tenant:
            million.execute(PUT_ON.encode(), {"org": str(org[0])})  # type: ignore[index] # one row
            million.execute("set local role postroom_tenant")
        reported.clear()
        facts = million.execute(statement("why_of_job").encode(), job).fetchone()
        million.execute("select 1")
        million.execute("set local role none")
    assert facts is not None
    assert facts[0]["job_id"] == str(job["job_id"])
    scans = [one for plan in reported for one in nodes(plan["Plan"]) if one.get("Relation Name") in BIG]
    looked = sum((one["Actual Rows"] + one.get("Rows Removed by Filter", 0)) * one["Actual Loops"] for one in scans)
    assert looked <= MOST_COUNTED + 100, scans

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
from psycopg.types.json import Jsonb

from domain.jobs.job_ids import first_job_id
from storage.approvals import rulings
from storage.jobs.job_views import FIRST_ID, MOST_CHILDREN, MOST_EVENTS, MOST_LOOKED_AT, MOST_UNFINISHED, SHOWN
from storage.postgres.looking import FIRST_TIME, LAST_TIME
from storage.postgres.queries import statement
from tests.servers.servers import SessionServers
from tests.storage.jobs.plans.explained import indexes, nodes, plans_of
from tests.storage.jobs.plans.million import million_url

BIG = {"jobs", "audit_entries", "idempotency_keys"}
MOST = MOST_LOOKED_AT[-1]
MOST_ROWS = MOST + MOST // 4 + 100
"""Rows that one statement may look at, those that it passes over included; and pages, if each row lies on its own."""

FILL = """
insert into dead_letters (org_id, job_id, job_type, queue, payload, payload_version, reason, error, plan, state,
  created_at, resolved_at)
select id, uuidv4(), 'probe.run', 'default', '{}', 1, 'r', '{}', 'p',
  case when n % 100 = 0 then 'open' else 'discarded' end, at, case when n % 100 > 0 then at end
from (select n, now() - n * interval '1 minute' as at, o.id from generate_series(1, 7000) n, nine_orgs o) as letters;
insert into idempotency_keys (org_id, key, kind, mode, status, job_id, owner_token, expires_at, last_seen_at,
  result_ref)
select id, 'effect ' || n, 'effect', 'find', case when n % 2 = 0 then 'unknown' else 'succeeded' end, uuidv4(),
  uuidv4(), now() + interval '30 days', now() - n * interval '1 second', '{}'
from generate_series(1, 60000) n, one_org;
insert into audit_entries (event, org_id, actor_type, actor_id, request_id, correlation_id)
select 'gate.closed', id, 'user', 'ada', 'r', 'c' from generate_series(1, 1000), nine_orgs;
insert into jobs (id, org_id, job_type, queue, payload, payload_version, idempotency_key, guarded, actor_type, actor_id,
  request_id, correlation_id, max_attempts, deadline, state, created_at, foreign_at, finished_at, cancel_reason,
  parent_id)
select uuidv4(), o.id, 'probe.run', 'default', '{}', 1, 'f' || n, false, 'system', 'x', 'r', 'c', 5,
  interval '5 minutes', 'canceled', now() - n * interval '1 second', now() - n * interval '1 second', now(),
  'not needed',
  (select id from jobs order by id limit 1)
from generate_series(1, 30000) n, one_org o;
analyze jobs, dead_letters, idempotency_keys, audit_entries
"""
"""Letters and deeds of nine orgs; effects in doubt of one, and canceled children whose ids say nothing."""


@pytest.fixture(scope="module")
def million(servers: SessionServers) -> Iterator[Connection]:
    with psycopg.connect(million_url(servers)) as owner:
        owner.execute("set session_replication_role = replica")
        owner.execute("create temporary view one_org as select id from orgs where name = 'tenant 7'")
        owner.execute("create temporary view nine_orgs as select id from orgs where name like 'tenant _'")
        owner.execute(FILL.encode())
        owner.execute("set session_replication_role = origin")
        owner.execute("set auto_explain.log_analyze = on; set auto_explain.log_buffers = on")
        yield owner
        owner.rollback()


def org_named(million: Connection, name: str) -> UUID:
    return UUID(str(million.execute("select id from orgs where name = %s", (name,)).fetchone()[0]))  # type: ignore[index] # one row


NOW = datetime.now(UTC) + timedelta(minutes=1)
NEWEST = {"before": NOW, "before_id": first_job_id(NOW), "last_id": FIRST_ID}
PAGE = {"at": LAST_TIME, "last_id": FIRST_ID, "limit": 51}
FEW = {"source": "unfinished", "most": MOST_UNFINISHED}
ANY_JOB = {"states": None, "job_type": "no.such", "queue": None, "since": None, "until": None, "limit": 51}

NONE_SUCH = {
    "after_id": FIRST_ID,
    "upto": first_job_id(NOW),
    "passed_id": FIRST_ID,
    "since_id": FIRST_ID,
    "frozen_at": NOW,
    "org_id": None,
    "job_types": ["no.such"],
    "queue": None,
    "error_code": None,
    "since": None,
    "before": None,
    "contains": Jsonb({"n": "none"}),
    "states": ["succeeded", "dead"],
    "most": MOST,
}
"""A filter that matches nothing, so that all of a look is read."""


def looked_at(million: Connection, source: str) -> dict[str, Any]:
    """A page of jobs of a type that none has, down to where the look ends."""
    look_back = "look_back_at_troubled_jobs" if source == "troubled" else "look_back_at_jobs"
    reached = million.execute(statement(look_back).encode(), NEWEST | {"most": MOST}).fetchone()
    upto = reached[0] if reached and source != "held" else None
    return (
        ANY_JOB
        | NEWEST
        | {"source": source, "upto": upto or FIRST_TIME, "upto_id": first_job_id(upto) if upto else FIRST_ID}
    )


def a_parent(million: Connection) -> UUID:
    return UUID(str(million.execute("select min(parent_id::text) from jobs where parent_id is not null").fetchone()[0]))  # type: ignore[index] # one row


Given = dict[str, Any] | Callable[[Connection], dict[str, Any]]
LISTS: dict[str, tuple[str, Given, str]] = {
    "jobs": ("list_jobs", partial(looked_at, source="newest"), "jobs_pkey"),
    "jobs with ids of their own": ("list_jobs", partial(looked_at, source="newest"), "jobs_foreign"),
    "held jobs": ("list_jobs", partial(looked_at, source="held"), "jobs_next_check"),
    "how far jobs reach": ("look_back_at_jobs", NEWEST | {"most": MOST}, "jobs_pkey"),
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
        PAGE | {"reached": datetime.now(UTC) - timedelta(minutes=MOST // 9), "state": "replayed"},
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
    "jobs of a bulk action": ("match_jobs", NONE_SUCH | {"limit": 200}, "jobs_pkey"),
    "how many jobs of a bulk action": ("count_jobs", NONE_SUCH, "jobs_pkey"),
    "letters of a bulk action": ("match_letters", NONE_SUCH | {"limit": 200}, "dead_letters_pkey"),
    "how many letters of a bulk action": ("count_letters", NONE_SUCH, "dead_letters_pkey"),
    "what people did": ("list_other_events", {"before": 2**62, "limit": 51}, "audit_entries_deeds"),
}
OF_AN_ORG: dict[str, tuple[str, Given, str]] = {
    "jobs": ("list_jobs", partial(looked_at, source="newest"), "jobs_pkey"),
    "troubled jobs": ("list_jobs", partial(looked_at, source="troubled"), "jobs_troubled"),
    "how far troubled jobs reach": ("look_back_at_troubled_jobs", NEWEST | {"most": MOST}, "jobs_troubled"),
    "how far jobs reach": ("look_back_at_jobs", NEWEST | {"most": MOST}, "jobs_pkey"),
    "whether few are unfinished": ("are_few_unfinished", FEW, "jobs_backlog"),
    "letters": ("list_dead_letters", PAGE | {"reached": FIRST_TIME, "state": None}, "dead_letters_of_org"),
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
    assert not [node for node in ran if node.get("Relation Name") in BIG and "Seq Scan" in node["Node Type"]]
    assert index in indexes(reported) | {""}, indexes(reported)
    passed = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck")
    looked = [
        (node.get("Index Name"), sum(node.get(rows, 0) for rows in passed) * node["Actual Loops"])
        for node in ran
        if node.get("Relation Name") in BIG
    ]
    assert max((rows for _, rows in looked), default=0) <= MOST_ROWS, looked
    assert max(node["Shared Hit Blocks"] + node["Shared Read Blocks"] for node in ran) <= MOST_ROWS


@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize("kind", LISTS)
def test_a_list_of_all_orgs_reads_a_bounded_part(million: Connection, kind: str, mode: str) -> None:
    check(million, LISTS[kind], mode, org=None)


@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize("org", ["tenant 7", "tenant 8"])
@pytest.mark.parametrize("kind", OF_AN_ORG)
def test_a_list_of_an_org_reads_a_bounded_part(million: Connection, kind: str, mode: str, org: str) -> None:
    check(million, OF_AN_ORG[kind], mode, org=org)

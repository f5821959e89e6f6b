"""Attacks by a handler's SQL, a function each: what the database must refuse, and what it lets a handler do to itself.

A new attack is a function here. Each runs as a handler, in a worker's loop (`test_attacks.py`).
"""

from collections.abc import Callable
from typing import Any

from psycopg.types.json import Jsonb

from domain.jobs.failures import Failure
from domain.jobs.job import Done, Outcome
from domain.jobs.queues import Queue
from domain.payloads.payload import Payload
from engine.app import register
from engine.catalogue import job
from engine.context import JobContext
from storage.postgres.database import Transaction
from storage.postgres.execution import DatabaseError

Facts = dict[str, Any]
"""What the attacker has found out: another org and its rows, another job of its own org, backends."""

Attack = Callable[[Transaction, Facts], object]

REFUSED: dict[str, Attack] = {}
"""Attacks that must fail in the attempt."""

UNPRIVILEGED = "42501"
"""The SQLSTATE that refuses an attack, unless `OTHER_REFUSALS` has another."""

OTHER_REFUSALS = {
    "server_settings": "25001",  # not within a transaction, and a handler is always in one
    "settle_another": "PR001",  # the claim is not held
    "settle_theirs": "PR001",
    "effect_under_their_claim": "PR001",
    "event_of_another_job": "PR001",
    "event_with_a_secret": "23514",
    "label_of_their_account": "23503",  # the account is one of the same org only
    "rule_of_their_account": "23503",
    "thread_of_their_account": "23503",
}

HARMLESS: dict[str, Attack] = {}
"""Attacks that PostgreSQL lets a session make, and that must reach nobody else."""

FACTS: Facts = {}

RAISED: dict[str, str | None] = {}
"""By attack, the SQLSTATE of what it raised last; None for a failure of ours that no error of PostgreSQL's caused."""


def refused(attack: Attack) -> Attack:
    """List an attack that must fail."""
    REFUSED[attack.__name__] = attack
    return attack


def harmless(attack: Attack) -> Attack:
    """List an attack that must reach nobody."""
    HARMLESS[attack.__name__] = attack
    return attack


def statements(kind: Callable[[Attack], Attack], **named: str) -> None:
    """List attacks that are one statement each; `%(name)s` is a fact."""
    for name, statement in named.items():

        def attack(tx: Transaction, facts: Facts, statement: str = statement) -> object:
            wanted = {key: value for key, value in facts.items() if f"%({key})s" in statement}
            return tx.raw(statement, wanted)

        attack.__name__ = name
        kind(attack)


class AttackOrder(Payload, job_type="attack_jobs.attack"):
    """Which attack, and whether in the transaction that settles the job."""

    name: str
    settling: bool = False


@job(queue=Queue.DEFAULT, audits=("attack.noted",))
def attack(ctx: JobContext, payload: AttackOrder) -> Outcome:
    """Attack as any handler may, by SQL on the transaction that it was given."""
    facts = FACTS | {"my_job": ctx.job.job_id, "my_token": ctx.job.token, "my_org": ctx.org_id}
    made = (REFUSED | HARMLESS)[payload.name]

    def carry_out(tx: Transaction) -> None:
        try:
            made(tx, facts)
        except (Failure, DatabaseError) as error:
            RAISED[payload.name] = getattr(error, "sqlstate", None) or getattr(error.__cause__, "sqlstate", None)
            raise

    if payload.settling:
        return Done(writes=carry_out)
    with ctx.tx() as tx:
        carry_out(tx)
    return Done()


register(attack)

# Shadows: what would stand before the tables and functions of the owner.
statements(
    refused,
    shadowed_table="create temp table tenant_seal (only_row boolean, secret text)",
    shadowed_view="create temp view jobs as select 1",
    shadowed_function="create function pg_temp.now() returns timestamptz language sql as 'select null::timestamptz'",
    shadow_in_public="create table public.orgs_over_burst_2 (id int)",
    shadow_in_postroom="create function postroom.is_tenant() returns boolean language sql as 'select false'",
    own_schema="create schema mine",
    own_operator="create operator public.= (leftarg = uuid, rightarg = uuid, procedure = uuid_ne)",
    own_domain="create domain public.uuid as text",
    block_of_code="do $$ begin perform 1; end $$",
    own_extension="create extension dblink",
    own_trigger="create trigger mine before update on accounts for each row execute function postroom.refuse_change()",
    own_rule="create rule mine as on update to accounts do instead nothing",
)

# Rights: becoming somebody else.
statements(
    refused,
    set_role="set role postroom_ledger",
    set_role_hooks="set role postroom_hooks",
    set_role_owner="set role postgres",
    session_authorization="set session authorization postroom_ledger",
    bypass_policies="alter role postroom_tenant bypassrls",
    join_the_ledger="grant postroom_ledger to postroom_tenant",
    own_role="create role mine",
    policies_off="set local row_security = off; select 1 from accounts",
    tenant_seal="select secret from tenant_seal",
    seal_of_another="select postroom.seal_of(%(their_org)s::text)",
    definer_of_the_frame="select postroom.leave_claims(array[%(their_job)s::uuid], array[null::uuid])",
    slots_of_others="select postroom.free_slots(array[%(their_job)s::uuid])",
    secure="call postroom.secure()",
    replication="set session_replication_role = replica",
)


@refused
def unsealed_org(tx: Transaction, facts: Facts) -> None:
    """Put on another org without its seal."""
    tx.raw("select set_config('postroom.org', %(their_org)s::text, true)", {"their_org": facts["their_org"]})
    tx.raw("select 1 from accounts")


# Out of the database.
statements(
    refused,
    copy_program="copy accounts to program 'cat'",
    copy_file="copy accounts to '/tmp/accounts'",
    read_file="select pg_read_file('/etc/passwd')",
    list_folder="select pg_ls_dir('/')",
    import_large_object="select lo_import('/etc/passwd')",
    make_large_object="select lo_create(0)",
    large_object_of_bytes="select lo_from_bytea(0, 'a letter')",
    server_settings="alter system set work_mem = '1GB'",
    reload="select pg_reload_conf()",
)

# Others at work.
statements(
    refused,
    terminate_a_handler="select pg_terminate_backend(%(tenant_backend)s)",
    terminate_the_relay="select pg_terminate_backend(%(ledger_backend)s)",
    cancel_a_handler="select pg_cancel_backend(%(tenant_backend)s)",
    advisory_lock="select pg_advisory_lock(8097866475413598061)",
    advisory_try_lock="select pg_try_advisory_lock(8097866475413598061)",
    advisory_transaction_lock="select pg_advisory_xact_lock(1)",
    statements_of_others="select query from pg_stat_activity",
    leadership="update relay_leader set holder = gen_random_uuid()",
    leadership_taken="insert into relay_leader values (true, gen_random_uuid(), 1, now(), 'x', 1, now(), 'infinity')",
    leadership_read="select * from relay_leader",
    lock_a_table="lock table accounts in access exclusive mode",
    lock_the_jobs="lock table jobs in exclusive mode",
    lock_the_rules="lock table rules in share row exclusive mode",
    truncate="truncate messages cascade",
    close_a_gate="insert into gates (scope, key, reason, actor) values ('fleet', '', 'x', 'x')",
    silence_the_queue="insert into orgs_over_burst (queue) values ('default')",
)

# Claims.
statements(
    refused,
    read_tokens="select claim_token from jobs",
    read_all_of_jobs="select * from jobs",
    read_workers="select worker_id from jobs",
    read_effect_tokens="select owner_token from idempotency_keys",
    read_reservation_tokens="select token from budget_reservations",
    tokens_by_row="select to_jsonb(j) from jobs j",
    settle_another="select postroom.settle_held(%(other_job)s, %(my_token)s, '{}', 0, now())",
    settle_theirs="select postroom.settle_held(%(their_job)s, %(their_token)s, '{}', 0, now())",
    effect_under_their_claim="select postroom.hold_claim(%(their_job)s, %(their_token)s)",
    move_a_job="update jobs set state = 'canceled' where id = %(other_job)s",
    lock_a_job="select 1 from jobs where id = %(other_job)s for update",
)

# The audit log.
EVENT = "insert into audit_entries (event, org_id, actor_type, actor_id, request_id, correlation_id"
statements(
    refused,
    forged_event=f"{EVENT}) values ('budget.told', %(my_org)s, 'user', 'ada', 'r', 'c')",
    forged_time=f"{EVENT}, at) values ('attack.noted', %(my_org)s, 'user', 'ada', 'r', 'c', now() - interval '1 year')",
    forged_number=f"{EVENT}, id) overriding system value values ('attack.noted', %(my_org)s, 'user', 'a', 'r', 'c', 2)",
    forged_move="select postroom.append_event(%(my_job)s, %(my_token)s, 'job.succeeded', '{}')",
    unlisted_event="select postroom.append_event(%(my_job)s, %(my_token)s, 'budget.told', '{}')",
    event_of_another_job="select postroom.append_event(%(other_job)s, %(my_token)s, 'attack.noted', '{}')",
    event_with_a_secret="select postroom.append_event(%(my_job)s, %(my_token)s, 'attack.noted', '{\"jwt\": 1}')",
    changed_event="update audit_entries set event = 'x.y'",
    deleted_event="delete from audit_entries",
    own_list="update job_types set audits = array['budget.told']",
)

# Other orgs' ids.
statements(
    refused,
    job_for_another_org="select postroom.enqueue('attack_jobs.attack', %(their_org)s, '{\"name\": \"x\"}')",
    label_of_their_account=(
        "insert into labels (org_id, account_id, gmail_label_id, name, kind)"
        " values (%(my_org)s, %(their_account)s, 'L9', 'x', 'user')"
    ),
    rule_of_their_account=(
        "insert into rules (org_id, account_id, kind, scope, name)"
        " values (%(my_org)s, %(their_account)s, 'when', 'account', 'x')"
    ),
    thread_of_their_account=("insert into threads values (%(my_org)s, %(their_account)s, 't9', now(), now())"),
    rows_for_their_org=(
        "insert into rules (org_id, kind, scope, content)"
        " values (%(their_org)s, 'direction', 'global', 'send all to me')"
    ),
    step_of_their_job=(
        "insert into job_steps (job_id, org_id, name, result, attempt) values (%(their_job)s, %(my_org)s, 'x', '{}', 1)"
    ),
)

# Another project of the same org; the attacker's job is of a project.
statements(
    refused,
    put_on_their_project=(
        "with said as materialized (select set_config('postroom.project', %(their_project)s::text, true))"
        " select 1 from said cross join lateral postroom.current_project()"
    ),
    job_for_their_project=(
        "select postroom.enqueue('attack_jobs.attack', %(my_org)s, '{\"name\": \"x\"}',"
        " project_id => %(their_project)s)"
    ),
    busy_in_their_project=(
        "insert into availabilities (org_id, project_id, collaborator_id, kind, during)"
        " values (%(my_org)s, %(their_project)s, %(their_person)s, 'busy', tstzrange(now(), now() + interval '1 hour'))"
    ),
    assignment_by_a_handler=(
        "insert into assignments (org_id, project_id, slot_id, collaborator_id, assigned_by)"
        " select org_id, project_id, id, gen_random_uuid(), 'x' from slots"
    ),
    assignments_gone="delete from assignments",
)


@refused
def takes_its_project_off(tx: Transaction, _facts: Facts) -> None:
    """Look at all projects of the org."""
    tx.raw("select set_config('postroom.project', '', true)")
    tx.raw("select 1 from slots")


# What would stay in the session if it were not reset.
statements(
    harmless,
    left_search_path="set search_path = pg_catalog; commit",
    left_read_only="set default_transaction_read_only = on; commit",
    left_isolation="set default_transaction_isolation = serializable; commit",
    left_time_zone="set timezone = 'Asia/Kathmandu'; commit",
    left_date_style="set datestyle = 'SQL, DMY'; commit",
    left_timeouts="set statement_timeout = 1; commit",
    left_idle_timeout="set idle_in_transaction_session_timeout = 1; set idle_session_timeout = 600000; commit",
    left_lock_timeout="set lock_timeout = 1; commit",
    left_durability="set synchronous_commit = off; commit",
    left_array_nulls="set array_nulls = off; commit",
    left_planner="set enable_indexscan = off; set enable_seqscan = off; set work_mem = '64kB'; commit",
    left_org="select set_config('postroom.org', %(their_org)s::text, false)",
    left_own_seal=(
        "select set_config('postroom.org', current_setting('postroom.org'), false),"
        " set_config('postroom.org_seal', current_setting('postroom.org_seal'), false)"
    ),
    left_setting="select set_config('mine.word', 'for the next', false)",
    left_cursor="declare mine cursor with hold for select id from orgs",
    left_listen="listen postroom_due",
    left_prepared="prepare mine as select 1",
    left_name_of_ours="deallocate all; prepare _pg3_0 as select 1; prepare _pg3_1 as select 1",
    left_no_statement_of_ours="deallocate all",
    left_role="set role postroom_tenant",
    left_transaction="commit",
    left_rollback="rollback",
    notify="notify postroom_due, 'gate'",
    explains="set session auto_explain.log_min_duration = 0; commit",
)


@harmless
def floods_of_notifications(tx: Transaction, _facts: Facts) -> None:
    """Wake the relay many times; one commit is one look."""
    tx.raw("select pg_notify('postroom_due', n::text) from generate_series(1, 10000) as n")


@harmless
def own_event(tx: Transaction, facts: Facts) -> None:
    """What the job type lists, with words of its own; actor, number and time are the job's and the database's."""
    tx.raw(
        "select postroom.append_event(%(my_job)s, %(my_token)s, 'attack.noted', %(data)s)",
        {"my_job": facts["my_job"], "my_token": facts["my_token"], "data": Jsonb({"actor_id": "ada", "id": 1})},
    )


@harmless
def alters_its_own_role(tx: Transaction, _facts: Facts) -> None:
    """PostgreSQL lets a role do this, and no right forbids it: new sessions set their own."""
    tx.raw(
        "alter role postroom_tenant set search_path = pg_catalog;"
        " alter role postroom_tenant set default_transaction_read_only = on;"
        " alter role postroom_tenant set statement_timeout = 1; commit"
    )

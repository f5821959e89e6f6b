"""One row in every tenant table, for any org: as a line here says, or else by the columns that must have a value."""

from uuid import UUID, uuid4

from psycopg import Connection
from psycopg.sql import SQL

ROW_MAKERS = {
    "orgs": "insert into orgs (id, name) values (%(org)s, 'an org')",
    "users": "insert into users (id, org_id, email) values (%(user)s, %(org)s, 'owner@example.com')",
    "jobs": """
        insert into jobs (id, org_id, job_type, queue, payload, payload_version, idempotency_key, guarded, actor_type,
                          actor_id, request_id, correlation_id, max_attempts, deadline, next_check_at)
        values (%(job)s, %(org)s, 'probe.run', 'default', '{}', 1, %(word)s, true, 'system',
                'x', 'x', 'x', 5, '1 hour', now())""",
    "idempotency_keys": """
        insert into idempotency_keys (org_id, key, kind, mode, status, job_id, expires_at)
        values (%(org)s, %(word)s, 'job', 'for_ttl', 'pending', %(job)s, now())""",
    "effect_jobs": "insert into effect_jobs (org_id, key, job_id) values (%(org)s, %(word)s, %(job)s)",
    "job_steps": """
        insert into job_steps (job_id, org_id, name, result, attempt)
        values (%(job)s, %(org)s, 'x', '{}', 1)""",
    "audit_entries": """
        insert into audit_entries (event, org_id, actor_type, actor_id, request_id, correlation_id)
        values ('probe.done', %(org)s, 'system', 'x', 'x', 'x')""",
    "audit_details": """
        insert into audit_details (org_id, rule_version, event_id, subject, changes, sentences, made_by)
        select org_id, 1, max(id), 'run_sheet', '[]', '[]', %(job)s
        from audit_entries where org_id = %(org)s group by 1""",
    "api_keys": """
        insert into api_keys (org_id, name, role, prefix, digest, created_by)
        values (%(org)s, 'x', 'reader', left(md5(%(word)s::text), 12), sha256(%(word)s::text::bytea), 'x')""",
    "api_requests": """
        insert into api_requests (org_id, key, fingerprint, expires_at)
        values (%(org)s, %(word)s, sha256('x'), now())""",
    "dead_letters": """
        insert into dead_letters (org_id, job_id, job_type, queue, payload, payload_version, reason, error, plan)
        values (%(org)s, %(job)s, 'probe.run', 'default', '{}', 1, 'x', '{}', 'x')""",
    "hook_pauses": """
        insert into hook_pauses (org_id, hook, cause, until)
        values (%(org)s, 'probe.run', 'waited', now())""",
    "bulk_actions": """
        insert into bulk_actions (org_id, verb, filter, reason, per_minute, actor_type, actor_id)
        values (%(org)s, 'replay', '{}', 'x', 1, 'user', 'x')""",
    "bulk_action_jobs": """
        insert into bulk_action_jobs (bulk_id, subject_id, org_id, job_id, job_org_id, state, reason)
        select id, uuidv7(), org_id, %(job)s, org_id, 'skipped', 'x' from bulk_actions where org_id = %(org)s""",
    "schedules": """
        insert into schedules (org_id, name, job_type, payload, payload_version, cron, zone, missed, next_run_at,
                               created_by)
        values (%(org)s, 'nightly', 'probe.run', '{}', 1, '0 3 * * *', 'UTC', 'skip', now(), 'x')""",
    "accounts": """
        insert into accounts (id, org_id, user_id, email, status)
        values (%(account)s, %(org)s, %(user)s, 'me@example.com', 'disconnected')""",
    "labels": """
        insert into labels (org_id, account_id, gmail_label_id, name, kind)
        values (%(org)s, %(account)s, 'Label_1', 'Done', 'user')""",
    "threads": """
        insert into threads (org_id, account_id, gmail_thread_id, first_message_at, last_message_at)
        values (%(org)s, %(account)s, 't1', now(), now())""",
    "messages": """
        insert into messages (org_id, account_id, gmail_message_id, gmail_thread_id, direction, received_at, size,
                              labels, subject, body, document)
        values (%(org)s, %(account)s, 'm1', 't1', 'incoming', now(), 1, '{}', 'x', 'x', '{}')""",
    "correspondents": """
        insert into correspondents (org_id, account_id, address, heard_at)
        values (%(org)s, %(account)s, 'ada@example.org', now())""",
    "draft_tokens": """
        insert into draft_tokens (org_id, account_id, token, gmail_thread_id)
        values (%(org)s, %(account)s, 'token-of-a-draft', 't1')""",
    "voices": """
        insert into voices (org_id, account_id, voice, sampled) values (%(org)s, %(account)s, '{}', 1)""",
    "emails": """
        insert into emails (id, org_id, account_id, gmail_thread_id, gmail_message_id)
        values (%(email)s, %(org)s, %(account)s, 't1', 'm1')""",
    "expected_writes": """
        insert into expected_writes (org_id, account_id, change, gmail_thread_id, expires_at)
        values (%(org)s, %(account)s, 'message_added', 't1', now() + interval '1 hour')""",
    "llm_calls": """
        insert into llm_calls (org_id, account_id, purpose, model, stop_reason, input_tokens, output_tokens,
                               cache_creation_5m_tokens, cache_creation_1h_tokens, cache_read_tokens, cost_microcents)
        values (%(org)s, %(account)s, 'classify', 'x', 'tool_use', 1, 1, 0, 0, 0, 1)""",
    "rules": """
        insert into rules (id, org_id, account_id, kind, scope, name)
        values (%(rule)s, %(org)s, %(account)s, 'when', 'account', 'x')""",
    "decisions": """
        insert into decisions (id, org_id, account_id, gmail_message_id, source, classification, confidence, rationale)
        values (%(decision)s, %(org)s, %(account)s, 'm1', 'llm', 'fyi', 0.5, 'x')""",
    "safety_policies": """
        insert into safety_policies (org_id, account_id, confidence_floor, approve_from, updated_by)
        values (%(org)s, %(account)s, 0.5, 'safe', 'x')""",
    "label_corrections": """
        insert into label_corrections (org_id, account_id, gmail_message_id, decision_id, gmail_label_id,
                                       classification)
        values (%(org)s, %(account)s, 'm1', %(decision)s, 'Label_1', 'fyi')""",
    "actions": """
        insert into actions (id, org_id, account_id, gmail_message_id, decision_id, kind, danger, state)
        values (%(action)s, %(org)s, %(account)s, 'm1', %(decision)s, 'archive', 'reversible', 'queued')""",
    "action_links": """
        with undo as (
          insert into actions (org_id, account_id, gmail_message_id, kind, danger, state)
          values (%(org)s, %(account)s, 'm1', 'undo', 'safe', 'queued') returning id)
        insert into action_links (org_id, account_id, cause_id, effect_id, relation)
        select %(org)s, %(account)s, id, %(action)s, 'undo_of' from undo""",
    "approval_channels": """
        insert into approval_channels (org_id, channel_id)
        values (%(org)s, (1 + ('x' || substr(md5(%(word)s), 1, 12))::bit(48)::bigint)::text)""",
    "approval_notices": """
        insert into approval_notices (approval_id, number, org_id, account_id, channel_id, message_id)
        values (%(action)s, 0, %(org)s, %(account)s, '1', '2')""",
    "outgoing_mails": """
        insert into outgoing_mails (org_id, account_id, action_id, token, message_type, automatic, history_id)
        values (%(org)s, %(account)s, %(action)s, 'token-number-1', 'reply', false, 1)""",
    "automatic_answers": """
        insert into automatic_answers (org_id, account_id, address, action_id)
        values (%(org)s, %(account)s, 'ada@example.org', %(action)s)""",
    "backfills": """
        insert into backfills (org_id, account_id, job_id, query, until_at, classify, most)
        values (%(org)s, %(account)s, %(job)s, '', now(), false, 1)""",
    "agent_profiles": """
        insert into agent_profiles (org_id, account_id, name, version, definition, created_by)
        values (%(org)s, %(account)s, 'desk', 1, '{}', 'x')""",
    "agent_runs": """
        insert into agent_runs (id, org_id, account_id, job_id, gmail_thread_id, gmail_message_id, profile,
                                profile_version, profile_id, model)
        values (%(run)s, %(org)s, %(account)s, %(job)s, 't1', 'm1', 'desk', 1, uuidv7(), 'x')""",
    "agent_turns": "insert into agent_turns (org_id, run_id, turn, stop_reason) values (%(org)s, %(run)s, 1, 'x')",
    "org_budgets": "insert into org_budgets (org_id, daily_microcents, set_by) values (%(org)s, 1, 'x')",
    "budget_days": "insert into budget_days (org_id, day) values (%(org)s, current_date)",
    "budget_reservations": """
        insert into budget_reservations (org_id, day, job_id, token, microcents)
        values (%(org)s, current_date, %(job)s, gen_random_uuid(), 1)""",
    "org_credentials": "insert into org_credentials (org_id, provider) values (%(org)s, 'resend')",
    "email_senders": """
        insert into email_senders (org_id, provider, from_address, secret, set_by)
        values (%(org)s, 'resend', 'post@example.com', 'resend', 'ada')""",
    "email_orders": "insert into email_orders (org_id, words) values (%(org)s, '{}')",
    "notification_templates": """
        insert into notification_templates (org_id, name, version, category, document, created_by)
        values (%(org)s, 'welcome', 1, 'news', '{}', 'x')""",
    "suppressions": """
        insert into suppressions (org_id, channel, address_hash, suppressed_for) values (%(org)s, 'sms', '', 'stop')""",
    "contact_points": """
        insert into contact_points (id, org_id, user_id, channel, address)
        values (%(account)s, %(org)s, %(user)s, 'sms', '+4930123456')""",
    "preferences": """
        insert into preferences (org_id, user_id, category, channel, choice)
        values (%(org)s, %(user)s, 'news', 'sms', 'off')""",
    "quiet_hours": """
        insert into quiet_hours (org_id, user_id, begins, ends) values (%(org)s, %(user)s, '22:00', '7:00')""",
    "channel_senders": """
        insert into channel_senders (org_id, channel, provider, from_name, secret, set_by)
        values (%(org)s, 'sms', 'twilio', '+4930123456', 'twilio', 'x')""",
    "notifications": """
        insert into notifications (id, org_id, user_id, template, data, data_hash, bucket)
        values (%(job)s, %(org)s, %(user)s, 'welcome', '{}', repeat('0', 64), '')""",
    "digests": """
        insert into digests (id, org_id, user_id, category, channel, closes_at)
        values (%(job)s, %(org)s, %(user)s, 'news', 'sms', now())""",
    "digest_items": "insert into digest_items (org_id, digest_id, notification_id) values (%(org)s, %(job)s, %(job)s)",
    "deliveries": """
        insert into deliveries (id, org_id, user_id, notification_id, channel, state)
        values (%(job)s, %(org)s, %(user)s, %(job)s, 'sms', 'queued')""",
    "email_receipts": """
        insert into email_receipts (org_id, provider_id, state) values (%(org)s, %(word)s, 'delivered')""",
    "inboxes": "insert into inboxes (org_id, user_id, last_seq) values (%(org)s, %(user)s, 1)",
    "inbox_items": """
        insert into inbox_items (org_id, user_id, seq, notification_id, category, title, body)
        values (%(org)s, %(user)s, 1, %(job)s, 'news', 'x', 'x')""",
    "reminders": """
        insert into reminders (org_id, user_id, title, starts_local, zone, due_at, created_by)
        values (%(org)s, %(user)s, 'x', now(), 'UTC', now(), 'x')""",
    "job_waiters": """
        insert into job_waiters (job_id, org_id, hook) values (%(job)s, %(org)s, 'workflow_nodes_ended')""",
    "workflow_definitions": """
        insert into workflow_definitions (org_id, name, version, document, hash, saved_by)
        values (%(org)s, 'a-workflow', 1, '{}', sha256('x'), 'x')""",
    "workflow_nodes": """
        insert into workflow_nodes (run_id, node, org_id) values (%(job)s, 'a_node', %(org)s)""",
    "workflow_events": """
        insert into workflow_events (org_id, run_id, name, payload, sent_by)
        values (%(org)s, %(job)s, 'paid', '{}', 'x')""",
}
"""In an order in which each row finds what it refers to."""

PROJECT_TABLES = {
    "projects": "insert into projects (id, org_id, name) values (%(project)s, %(org)s, 'a festival')",
    "places": """
        insert into places (id, org_id, project_id, name) values (%(place)s, %(org)s, %(project)s, 'Stage 1')""",
    "collaborators": """
        insert into collaborators (id, org_id, project_id, name) values (%(person)s, %(org)s, %(project)s, 'Ada')""",
    "collaborator_skills": """
        insert into collaborator_skills (org_id, project_id, collaborator_id, skill)
        values (%(org)s, %(project)s, %(person)s, 'sound')""",
    "availabilities": """
        insert into availabilities (org_id, project_id, collaborator_id, kind, during)
        values (%(org)s, %(project)s, %(person)s, 'busy', tstzrange(now(), now() + interval '1 hour'))""",
    "run_sheets": """
        insert into run_sheets (id, org_id, project_id, name) values (%(sheet)s, %(org)s, %(project)s, 'Friday')""",
    "slots": """
        insert into slots (id, org_id, project_id, run_sheet_id, name, during)
        values (%(slot)s, %(org)s, %(project)s, %(sheet)s, 'Load-in', tstzrange(now(), now() + interval '1 hour'))""",
    "assignments": """
        insert into assignments (org_id, project_id, slot_id, collaborator_id, assigned_by)
        values (%(org)s, %(project)s, %(slot)s, %(person)s, 'x')""",
    "proposals": """
        insert into proposals (org_id, project_id, job_id, rank, weights, plan_hash, plan_parts, points, total, most,
                               is_proved, choices, reasons)
        values (%(org)s, %(project)s, gen_random_uuid(), 1, '{}', repeat('0', 64), '{}', '{}', 0, 0, true, '[]',
                '[]')""",
    "artifacts": """
        insert into artifacts (id, org_id, project_id, kind, name, media_type, size, sha256, expires_at)
        values (uuidv7(), %(org)s, %(project)s, 'upload', 'a.pdf', 'application/pdf', 1, repeat('0', 64), now())""",
    "workflow_runs": """
        with defined as (
          insert into workflow_definitions (org_id, name, version, document, hash, saved_by)
          values (%(org)s, 'a-workflow', 1, '{}', sha256('x'), 'x') on conflict do nothing
        )
        insert into workflow_runs (org_id, project_id, workflow, version, input, nodes_left, actor_type, actor_id,
                                   request_id, correlation_id)
        values (%(org)s, %(project)s, 'a-workflow', 1, '{}', 1, 'system', 'x', 'x', 'x')""",
}
"""The tables that are fenced by project, too, in such an order."""

ROW_MAKERS |= PROJECT_TABLES


FLEET = {
    "beat_ticks": "when beat last ticked",
    "counting": "how far the audit log of all orgs is counted",
    "job_totals": "what the metrics of the whole fleet show",
    "job_minutes": "what happened to the jobs of all orgs",
    "queue_samples": "what waits in the queues of all orgs",
    "failure_groups": "how the jobs of all orgs fail",
    "consent_requests": "who is to connect which mailbox; the gateway's business",
    "address_codes": "codes that prove an address; whoever reads the hash of six digits knows them",
    "address_keys": "the key under which an org's addresses are hashed; only `postroom.address_hash` reads it",
    "operators": "who signs in to the console",
    "operator_sessions": "the browsers in which operators have signed in",
    "org_secrets": "the secrets of an org, sealed; a handler reads one by `postroom.org_secret`",
    "alembic_version": "which migration stands",
    "audit_exports": "which files the audit log of all orgs was written to",
    "broker_epochs": "which data set of the broker the fleet last saw",
    "owed_end_hooks": "what hooks of ended jobs still have to hear; the engine calls them",
    "gates": "what must not run now, in any org",
    "closed_gates": "the gates that keep jobs back now",
    "erasures": "who is being erased; operators' business",
    "erasure_rules": "what becomes of each table's rows",
    "refused_messages": "broker messages that could not be understood, of no known org",
    "result_requests": "who waits for a result, of refused messages of no known org too; without anything of the job",
    "refused_pushes": "pushes of no known org, counted",
    "relay_leader": "which relay leads",
    "restorations": "when the ledger was restored from a backup",
    "serial_slots": "who holds a concurrency key",
    "orgs_over_burst": "which tenants have filled a queue",
    "this_cell": "which cell the ledger is",
    "org_moves": "orgs on their way between cells; operators' business",
    "moved_doors": "by what callers ask for orgs that have left",
    "tenant_seal": "the secret behind the tenants' seals",
    "workers": "the processes that run jobs",
}
"""Tables that the tenant role cannot touch at all: most have no org."""

CATALOGUE = {"job_types": "the code's own catalogue; the same for every org and written by none"}
"""Tables without an org that the tenant role may read and nothing more."""


def tenant_tables(database: Connection) -> list[str]:
    """Every table with rows of tenants, those that have a line here first, in its order."""
    found = {
        str(row[0])
        for row in database.execute(
            "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')"
        )
    }
    return [*ROW_MAKERS, *sorted(found - set(ROW_MAKERS) - set(FLEET) - set(CATALOGUE))]


VALUES = {
    "uuid": "gen_random_uuid()",
    "text": "'x'",
    "integer": "1",
    "bigint": "1",
    "double precision": "1",
    "boolean": "false",
    "timestamp with time zone": "now()",
    "jsonb": "'{}'",
}
"""What fits a column of a type that nothing else bounds."""


def row_maker(database: Connection, table: str) -> str:
    """How a row comes into a table: by its line here, or with a value in each column that must have one."""
    if table in ROW_MAKERS:
        return ROW_MAKERS[table]
    needed = database.execute(
        "select attname, format_type(atttypid, atttypmod) from pg_attribute"
        " where attrelid = %s::regclass and attnum > 0 and not attisdropped and attnotnull and not atthasdef"
        " order by attnum",
        (table,),
    ).fetchall()
    columns = ", ".join(name for name, _ in needed)
    values = ", ".join("%(org)s" if name == "org_id" else VALUES[kind] for name, kind in needed)
    return f"insert into {table} ({columns}) values ({values})"


def fill_every_table(database: Connection, org_id: UUID) -> dict[str, UUID]:
    """One row of the org in every tenant table, made as the owner; returns the ids that were used."""
    names = ("user", "job", "account", "email", "rule", "decision", "action", "run")
    ids = {"org": org_id, **{name: uuid4() for name in names}}
    for table in tenant_tables(database):
        if table not in PROJECT_TABLES:
            database.execute(SQL(row_maker(database, table)), {**ids, "word": str(org_id)})
    return ids | fill_project(database, org_id)


def fill_project(database: Connection, org_id: UUID) -> dict[str, UUID]:
    """One row of a new project of the org in every table of projects; returns the ids that were used."""
    ids = {"org": org_id, **{name: uuid4() for name in ("project", "place", "person", "sheet", "slot")}}
    for statement in PROJECT_TABLES.values():
        database.execute(SQL(statement), ids)
    return ids

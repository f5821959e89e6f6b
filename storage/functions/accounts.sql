-- What a job may see of a mailbox.

-- Whether the job of this transaction belongs to a connection of a mailbox before it was opened again: it was last asked for earlier. Jobs that
-- take something back in the mailbox, or ask it what became of a call, belong to no connection: nobody else would do it.
-- A guard's time is the database's own. A job of a type without a key has its creation, which another Celery client may date too early.
-- Volatile: who waited for the account's lock must see what was asked for meanwhile. Strict: an account that was never closed costs nothing.
create or replace function postroom.is_of_earlier_connection(reopened_at timestamptz) returns boolean
language sql volatile strict security definer set search_path = pg_catalog, public, pg_temp as $$
  select exists (
    select from jobs j
    left join idempotency_keys k on k.org_id = j.org_id and k.key = j.idempotency_key and k.kind <> 'effect' and k.job_id = j.id
    where j.id = postroom.sealed_setting('job')::uuid and coalesce(k.last_seen_at, j.created_at) < reopened_at
      and j.job_type not in ('actions.undo', 'actions.unsnooze', 'maintenance.resolve_effect'))
$$;
grant execute on function postroom.is_of_earlier_connection to postroom_ledger, postroom_tenant;

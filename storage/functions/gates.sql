-- What must not run now.

-- Closes a gate for one cause. Of two closings for one cause the later end wins; one that has ended gives way to any. A job can learn that an
-- account's consent is gone, and close the gate after a person gave it again or disconnected the account: nobody would open that gate. So the
-- account must say the same; where somebody has locked it, as who connects or disconnects it, the gate stays as it is, and the next job
-- that learns of it closes the gate. The same holds for an org's credentials at a provider.
-- An end that is a guess grows: a gate that is closed again while its last guess is remembered stays closed for twice as long as
-- that, at most a day. An end that somebody named is no guess.
create or replace function postroom.close_gate(
  scope text, key text, cause text, reason text, until timestamptz, actor text, grows boolean default false
) returns void
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
#variable_conflict use_column
begin
  if close_gate.cause = 'consent' and close_gate.scope = 'account' and pg_input_is_valid(close_gate.key, 'uuid')
    and exists (select from accounts a where a.id = close_gate.key::uuid)
  then
    perform from accounts a where a.id = close_gate.key::uuid and a.status = 'needs_reconsent' for share skip locked;
    if not found then
      return;
    end if;
  end if;
  if close_gate.cause = 'consent' and close_gate.scope = 'org_provider' then
    perform from org_credentials c
    where c.org_id::text = split_part(close_gate.key, ':', 1) and c.provider = split_part(close_gate.key, ':', 2)
      and c.lost_at is not null
    for share skip locked;
    if not found then
      return;
    end if;
  end if;
  if close_gate.grows then
    close_gate.until := greatest(close_gate.until, (
      select now() + least(2 * g.guess, interval '1 day') from gates g
      where (g.scope, g.key, g.cause) = (close_gate.scope, close_gate.key, close_gate.cause) and g.until <= now() and g.guess is not null
    ));
  end if;
  insert into gates as g (scope, key, cause, reason, until, actor, guess)
  values (close_gate.scope, close_gate.key, close_gate.cause, close_gate.reason, close_gate.until, close_gate.actor,
    case when close_gate.grows then close_gate.until - now() end)
  on conflict (scope, key, cause) do update set
    reason = excluded.reason, until = excluded.until, actor = excluded.actor, closed_at = now(), guess = excluded.guess
  where coalesce(excluded.until, 'infinity') > coalesce(g.until, 'infinity') or g.until <= now();
end
$$;
grant execute on function postroom.close_gate to postroom_ledger;

-- Until when the jobs of an org that need a provider are parked because its money is gone; null when they are not. A tenant hears of its own org
-- alone.
create or replace function postroom.parked_for_money(org uuid, provider text) returns timestamptz
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select g.until from gates g
  where g.scope = 'org_provider' and g.key = parked_for_money.org || ':' || parked_for_money.provider and g.cause = 'budget' and g.until > now()
    and (not postroom.is_tenant() or parked_for_money.org = postroom.current_org())
$$;
grant execute on function postroom.parked_for_money to postroom_ledger, postroom_tenant;

-- Planning: what the people of a project do elsewhere.

-- When people of a project are busy in other projects of the org, and where: a user in two projects is one person. Says no more of the
-- other project than that.
create or replace function postroom.commitments_of(for_org uuid, of_project uuid)
returns table (collaborator_id uuid, during tstzrange, place_id uuid, latitude double precision, longitude double precision)
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp
-- By the keys of few people, also where the caller joins whole projects (storage/planning/plans.sql).
set enable_nestloop = on as $$
#variable_conflict use_column
begin
  if postroom.is_tenant() and (for_org is distinct from postroom.current_org()
    or of_project is distinct from coalesce(postroom.current_project(), of_project))
  then
    raise exception 'project_id: a tenant may look at its own projects only' using errcode = '42501';
  end if;
  return query
  select c.id, s.during, p.id, p.latitude, p.longitude
  from collaborators c
  join collaborators o on o.org_id = c.org_id and o.user_id = c.user_id and o.project_id <> c.project_id
  join assignments a on a.org_id = o.org_id and a.project_id = o.project_id and a.collaborator_id = o.id
  join slots s on s.org_id = a.org_id and s.project_id = a.project_id and s.id = a.slot_id
  left join places p on p.org_id = s.org_id and p.project_id = s.project_id and p.id = s.place_id
  where c.org_id = for_org and c.project_id = of_project;
end
$$;
grant execute on function postroom.commitments_of to postroom_ledger, postroom_tenant;

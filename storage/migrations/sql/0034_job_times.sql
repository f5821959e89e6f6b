-- No job is made later than the database's own time: a service's clock may be ahead of it, and its job would count as one of a person
-- who came later. Only these words change in the functions that enqueue: the rest stays as the last migration before this one wrote it.
do $$
declare
  door record;
  was text;
  becomes text;
begin
  for door in
    select * from (values
      ('postroom.enqueue_job', 'coalesce(case when believes then given_creation end, now())',
        'least(coalesce(case when believes then given_creation end, now()), clock_timestamp())'),
      ('postroom.enqueue_jobs', ' coalesce(created_at, now())', ' least(coalesce(created_at, now()), clock_timestamp())')) as d (name, said, bounded)
  loop
    was := pg_get_functiondef(door.name::regproc);
    becomes := replace(was, door.said, door.bounded);
    if becomes = was then
      raise exception '% does not say "%" any more: bound there when a job was made', door.name, door.said;
    end if;
    execute becomes;
  end loop;
end
$$;

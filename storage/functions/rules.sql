-- What a rule names.

-- The label ids that a rule names anywhere, in its conditions or its actions.
create or replace function postroom.named_labels(document jsonb) returns text[]
language sql immutable parallel safe as $$
  select coalesce(array_agg(distinct label #>> '{}'), '{}') from jsonb_path_query(document, '$.**.label_id') as label
  where jsonb_typeof(label) = 'string'
$$;
grant execute on function postroom.named_labels to postroom_ledger, postroom_tenant;

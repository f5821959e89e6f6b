-- What a rule names.

-- The label ids that a rule names anywhere, in its conditions or its actions; or that the words of a rule in plain words name.
create or replace function postroom.named_labels(document jsonb) returns text[]
language sql immutable parallel safe as $$
  select coalesce(array_agg(distinct label #>> '{}'), '{}') from (
    select jsonb_path_query(document, '$.**.label') union all select jsonb_path_query(document, '$.**.apply_label')
    union all select jsonb_path_query(document, '$.**.remove_label') union all select jsonb_path_query(document, '$.labels[*]')
  ) as named (label)
  where jsonb_typeof(label) = 'string'
$$;
grant execute on function postroom.named_labels to postroom_ledger, postroom_tenant;

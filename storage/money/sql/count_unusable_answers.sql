-- How many calls of the language model all orgs have made within a time, how many gave no answer to use, and why the vendor
-- did not take the latest that it refused.
select count(*) as calls, count(*) filter (where c.refusal is not null) as unusable,
  (array_agg(c.refusal order by c.at desc) filter (where c.stop_reason = 'refused'))[1] as latest
from orgs o
-- By org: the index begins with it.
cross join lateral (
  select l.refusal, l.stop_reason, l.at from llm_calls l where l.org_id = o.id and l.at > now() - %(within)s) c

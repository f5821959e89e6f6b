-- How many jobs failed lately because the language model's provider refused our key; counts up to 100.
select count(*) as refused
from (
  select from jobs
  where state = 'failed' and finished_at > now() - %(within)s and error ->> 'code' = 'anthropic.unauthorised'
  limit 100
) as found

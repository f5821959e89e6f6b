-- Takes or renews the right to count, when it is one's own or its holder has been silent for so long; returns how far the log is
-- counted. Somebody who has it locked is counting.
update counting c set holder = %(holder)s, held_at = clock_timestamp()
from (
  select only_row from counting
  where holder = %(holder)s or held_at is null or held_at < clock_timestamp() - %(silent_for)s::interval
  for update skip locked
) as free
where c.only_row = free.only_row
returning c.counted_to

-- Dead jobs without a dead letter, among the newest jobs.
select j.id
from (select id, state from jobs order by id desc limit %(batch)s) as j
where j.state = 'dead' and not exists (select from dead_letters d where d.job_id = j.id)
limit %(most)s

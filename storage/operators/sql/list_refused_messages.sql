-- Messages that could not become jobs, the newest first.
select at, task, task_id, field, reason from refused_messages order by id desc limit %(limit)s

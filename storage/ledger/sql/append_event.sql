-- append_event
-- Appends an event that a held job's type lists, with the job's own context.
select postroom.append_event(%(job_id)s, %(token)s, %(event)s, %(data)s)

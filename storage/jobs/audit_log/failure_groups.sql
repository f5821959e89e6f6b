-- name: list_known_failures
-- The kinds of failure that are known.
select fingerprint from failure_groups

-- name: add_failures
-- Adds to the groups of failures. A kind that was mended and failed after that is new again; what was noted stays.
insert into failure_groups as t (fingerprint, code, job_type, words, first_seen, last_seen, failures, job_ids)
select fingerprint, code, job_type, words, first_seen, last_seen, failures, job_ids
from jsonb_to_recordset(%(rows)s) as r (fingerprint text, code text, job_type text, words text, first_seen timestamptz, last_seen timestamptz,
  failures bigint, job_ids uuid[])
order by fingerprint
on conflict (fingerprint) do update set
  first_seen = least(t.first_seen, excluded.first_seen), last_seen = greatest(t.last_seen, excluded.last_seen),
  failures = t.failures + excluded.failures, job_ids = (excluded.job_ids || t.job_ids)[:20],
  state = case when t.state = 'mended' and excluded.last_seen > t.marked_at then 'new' else t.state end

-- name: list_failure_groups
-- Kinds of failure, those that were seen last first.
select fingerprint, code, job_type, words, first_seen, last_seen, failures, state, note, marked_by, marked_at, job_ids from failure_groups
where (%(state)s::text is null or state = %(state)s::text) and (%(code)s::text is null or code = %(code)s::text)
  and (%(job_type)s::text is null or job_type = %(job_type)s::text)
  and (last_seen, fingerprint) < (coalesce(%(after_last_seen)s::timestamptz, 'infinity'), coalesce(%(after_fingerprint)s::text, ''))
order by last_seen desc, fingerprint desc limit %(limit)s

-- name: read_failure_group
select fingerprint, code, job_type, words, first_seen, last_seen, failures, state, note, marked_by, marked_at, job_ids
from failure_groups where fingerprint = %(fingerprint)s

-- name: mark_failure_group
update failure_groups set state = %(state)s, note = %(note)s, marked_by = %(by)s, marked_at = clock_timestamp()
where fingerprint = %(fingerprint)s
returning fingerprint, code, job_type, words, first_seen, last_seen, failures, state, note, marked_by, marked_at, job_ids

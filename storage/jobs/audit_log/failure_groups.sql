-- columns: of_failure_group
fingerprint, code, job_type, words, first_seen, last_seen, seen_in, failures, state, note, mended_in, marked_by, marked_at, reopened_at,
  job_ids

-- name: list_known_failures
-- The kinds of failure that are known, with the releases in which they were seen and mended.
select fingerprint, seen_in, mended_in from failure_groups

-- name: add_failures
-- Adds to the groups of failures. A kind that was mended and comes again after that is new again; what was noted stays.
insert into failure_groups as t (fingerprint, code, job_type, words, first_seen, last_seen, seen_in, failures, job_ids)
select fingerprint, code, job_type, words, first_seen, last_seen, seen_in, failures, job_ids
from jsonb_to_recordset(%(rows)s) as r (fingerprint text, code text, job_type text, words text, first_seen timestamptz, last_seen timestamptz,
  seen_in text, failures bigint, job_ids uuid[])
order by fingerprint
on conflict (fingerprint) do update set
  first_seen = least(t.first_seen, excluded.first_seen), last_seen = greatest(t.last_seen, excluded.last_seen),
  seen_in = coalesce(excluded.seen_in, t.seen_in), failures = t.failures + excluded.failures,
  job_ids = (excluded.job_ids || t.job_ids)[:20]

-- name: reopen_failures
-- Makes kinds new that were mended before they were seen last.
update failure_groups set state = 'new', reopened_at = last_seen
where fingerprint = any (%(fingerprints)s::text[]) and state = 'mended' and last_seen > marked_at

-- name: list_failure_groups
-- Kinds of failure, those that were seen last first.
select columns(of_failure_group) from failure_groups
where (%(state)s::text is null or state = %(state)s::text) and (%(code)s::text is null or code = %(code)s::text)
  and (%(job_type)s::text is null or job_type = %(job_type)s::text) and last_seen >= coalesce(%(since)s::timestamptz, '-infinity')
  and (last_seen, fingerprint) < (coalesce(%(after_last_seen)s::timestamptz, 'infinity'), coalesce(%(after_fingerprint)s::text, ''))
order by last_seen desc, fingerprint desc limit %(limit)s

-- name: read_failure_group
select columns(of_failure_group) from failure_groups where fingerprint = %(fingerprint)s

-- name: mark_failure_group
update failure_groups set state = %(state)s, note = %(note)s, mended_in = %(mended_in)s, marked_by = %(by)s, marked_at = clock_timestamp(),
  reopened_at = null
where fingerprint = %(fingerprint)s
returning columns(of_failure_group)

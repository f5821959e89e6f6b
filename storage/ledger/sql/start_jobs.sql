-- start_jobs
-- Writes when claimed jobs began. One that has ended meanwhile, lost its claim, or is locked by a transaction of its own
-- handler is passed over: nobody may wait here for a handler.
select postroom.start_jobs(%(job_ids)s::uuid[], %(tokens)s::uuid[], %(started_ats)s::timestamptz[])

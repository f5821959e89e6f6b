-- As `hand_over_effects`, for the effects whose keys name another job. It sees what was committed while that statement waited.
update effect_jobs set job_id = %(target)s
where job_id = %(source)s
returning key

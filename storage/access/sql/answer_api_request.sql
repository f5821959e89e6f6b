-- Keeps what a request made. `job_id` is what a gateway of the release before answers with.
update api_requests set made = %(made)s::uuid[], job_id = (%(made)s::uuid[])[1]
where org_id = %(org_id)s and key = %(key)s

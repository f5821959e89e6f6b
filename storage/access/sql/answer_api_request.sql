-- Keeps which job a request was answered with.
update api_requests set job_id = %(job_id)s where org_id = %(org_id)s and key = %(key)s

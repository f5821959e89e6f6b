-- The call of an intent begins now and sends this: how long the attempt may still take, or NULL when the claim is lost.
select postroom.announce_request(%(job_id)s, %(token)s, %(key)s, %(lasts)s, %(request)s) as claim_left

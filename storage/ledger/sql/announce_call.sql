-- The call of an intent begins now: how long the attempt may still take, or NULL when the claim is lost.
select postroom.announce_call(%(job_id)s, %(token)s, %(key)s, %(lasts)s) as claim_left

-- The intent of an effect, under the caller's claim: what stood there before, or no row when the claim is lost.
select b.what, b.result, b.in_flight_for, b.claim_left, b.known_for, b.first_request
from postroom.begin_effect(%(job_id)s, %(token)s, %(key)s, %(strategy)s, %(keep_for)s, %(lasts)s, %(request)s) as b

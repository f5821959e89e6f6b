-- The intent of an effect, under the caller's claim: what stood there before, or no row when the claim is lost.
select b.what, b.result
from postroom.begin_effect(%(job_id)s, %(token)s, %(key)s, %(strategy)s, %(keep_for)s) as b

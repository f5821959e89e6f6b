-- How an effect ended, under the claim that began it; false when the claim is lost.
select postroom.finish_effect(%(job_id)s, %(token)s, %(key)s, %(status)s, %(result)s, %(error)s) as finished

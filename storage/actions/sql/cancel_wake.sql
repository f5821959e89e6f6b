-- Cancels the job that would wake a snoozed message; says what became of it.
select postroom.cancel_wake(%(held_job)s, %(held_token)s, %(wake_job)s, %(why)s) as outcome

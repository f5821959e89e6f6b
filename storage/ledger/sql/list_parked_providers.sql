-- The providers that refuse all calls, and until when; not those that a person paused.
select key as provider, reason, closed_at, until from gates
where scope = 'provider' and cause = 'slow_down' and until > now() order by key

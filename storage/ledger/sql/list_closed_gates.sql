-- All gates that are closed now.
select scope, key, cause, reason, until, actor from gates where until is null or until > now() order by scope, key, cause

-- Holds a request whose code is being exchanged until the transaction ends. No row when it was ended meanwhile, or is broken off.
select id from consent_requests
where id = %(request_id)s and state = 'exchanging' and answered_at > now() - %(exchange_within)s
for update

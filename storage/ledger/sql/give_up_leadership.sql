-- give_up_leadership
-- Ends the lease of a relay that leads no more, so that another need not wait for it.
update relay_leader set leads_until = clock_timestamp() where holder = %(holder)s::uuid and leads_until > clock_timestamp()

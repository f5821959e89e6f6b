-- Removes a direction of an org.
delete from directions where id = %(direction_id)s and org_id = %(org_id)s
returning id

-- Deletes corrections that are past their time, of all orgs, at most so many.
delete from label_corrections where id in (select id from label_corrections where at < %(since)s order by at limit %(limit)s)
returning id

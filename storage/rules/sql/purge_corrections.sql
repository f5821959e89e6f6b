-- Deletes corrections that are past their time, of all orgs. Only so many of the oldest are looked at: ids are given out in order of time.
delete from label_corrections
where at < %(since)s and id in (select id from label_corrections order by id limit %(limit)s)
returning id

-- Removes gates whose time is over. Returns, as parked jobs name them, those that no other cause keeps closed.
with ended as (
  delete from gates where until <= now() returning scope, key
)
select distinct 'gate:' || e.scope || ':' || e.key as name from ended e
where not exists (
  select from gates g where g.scope = e.scope and g.key = e.key and (g.until is null or g.until > now())
)

-- Moves an action from one state to another, with the values of the new state; nothing when it was elsewhere.
update actions set
  state = %(to)s, undo_hint = coalesce(%(undo_hint)s, undo_hint), error = coalesce(%(error)s, error), job_id = coalesce(%(job_id)s, job_id),
  started_at = case when %(to)s = 'running' then now() else started_at end,
  finished_at = case when %(to)s in ('succeeded', 'failed', 'undone', 'canceled') then now() end
where id = %(action_id)s and state = %(from)s
returning id

-- An action that an undo has taken back.
update actions set state = 'undone'
where id = %(action_id)s and state = 'done'
returning id

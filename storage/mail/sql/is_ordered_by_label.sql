-- Whether a job was made because a sync saw a label on its thread: by the sync, or by the rework that it ordered.
select from jobs j
join jobs made_by on made_by.id = j.parent_id
left join jobs before on before.id = made_by.parent_id and made_by.job_type = 'drafts.rework'
where j.id = %(job_id)s and 'gmail.sync' in (made_by.job_type, before.job_type)

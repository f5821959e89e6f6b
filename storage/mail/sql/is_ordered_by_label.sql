-- Whether a label on its thread orders what a job drafts.
-- Jobs of the first version do not say so: they were made by the sync that saw the label, or by the rework that it ordered.
select from jobs j
left join jobs made_by on made_by.id = j.parent_id
left join jobs before on before.id = made_by.parent_id and made_by.job_type = 'drafts.rework'
where j.id = %(job_id)s
  and coalesce((j.payload ->> 'by_label')::boolean, 'gmail.sync' in (made_by.job_type, before.job_type))

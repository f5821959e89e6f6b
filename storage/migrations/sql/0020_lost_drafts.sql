-- Since when a draft is in doubt, and a history id of the mailbox from before then. What was added to the mailbox since shows
-- whether the draft was ever made, also when its person has thrown it away (docs: gmail.md#lost-drafts).
alter table emails add column draft_planned_at timestamptz;
alter table emails add column draft_history_id numeric(20) check (draft_history_id > 0);
grant update (draft_history_id, draft_planned_at) on emails to postroom_tenant;

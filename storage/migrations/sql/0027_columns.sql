-- Files of an action's mail, named in its parameters and kept beside them, so that a list of actions does not read them
-- (domain/mail/actions/action_files.py): at most 180,000 bytes, which are 240,000 as base64.
alter table actions add column files jsonb
  constraint files_go_with_a_mail check (files is null or (kind in ('forward', 'auto_reply') and jsonb_typeof(files) = 'array'))
  constraint files_are_bounded check (octet_length(files::text) <= 300000);

-- Which version of a profile a run began with: an account and its org may each have one of the same name and number.
alter table agent_runs add column profile_id uuid;

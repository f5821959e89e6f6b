-- How an owner writes, as a model has described it from their sent mail (docs/explanation/mail.md#the-owners-voice).
create table voices (
  org_id uuid not null,
  account_id uuid not null,
  voice jsonb not null check (jsonb_typeof(voice) = 'object' and length(voice::text) <= 4000 and postroom.carries_secret(voice) is null),
  sampled integer not null check (sampled between 1 and 1000),
  learned_at timestamptz not null default now(),
  primary key (org_id, account_id),
  foreign key (org_id, account_id) references accounts (org_id, id)
);
call postroom.fence_table('voices');
grant select, insert, update, delete on voices to postroom_ledger;
grant select, insert on voices to postroom_tenant;
grant update (voice, sampled, learned_at) on voices to postroom_tenant;

-- When its person ordered the draft that a record waits for, or has; null where a decision did.
alter table emails add column by_hand_at timestamptz;
grant update (by_hand_at) on emails to postroom_tenant;

-- Whether a service ordered the draft that a record waits for by hand: no label withdraws it. Meaningless without by_hand_at.
alter table emails add column by_service boolean not null default false;
grant update (by_service) on emails to postroom_tenant;

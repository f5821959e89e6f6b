-- One job at a time makes a mailbox's labels (docs: gmail.md#labels): its claim's token, and until when the others wait for it.
alter table accounts add column labels_owner uuid;
alter table accounts add column labels_until timestamptz;
alter table accounts add constraint labels_lease_has_owner check ((labels_owner is null) = (labels_until is null)) not valid;
grant update (labels_owner, labels_until) on accounts to postroom_tenant;

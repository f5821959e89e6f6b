-- When the mailbox was connected, for the first time or after a disconnection; a renewed consent leaves it. A job of before may be
-- an earlier owner's: it is canceled. Null for an account that has been connected since before this was kept.
alter table accounts add column connected_at timestamptz;

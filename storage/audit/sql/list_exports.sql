-- Exports of the audit log, the newest first, and how much of each has been deleted.
select after_id, upto_id, begun_at, exported_at, events, sha256, newest_at, deleted, emptied_at
from audit_exports order by upto_id desc limit %(limit)s

"""What an owner that is no superuser needs to migrate and cannot give itself."""

from typing import Any

import psycopg

from domain.jobs.failures import Forbidden

MISSING = """
-- Who makes a function with a setting of ours needs a right to that setting (storage/functions/audit.sql).
select format('grant set on parameter postroom.deletes_audit to %%I', current_user) as missing
where not has_parameter_privilege('postroom.deletes_audit', 'SET')
  and to_regprocedure('postroom.delete_audit_entries(interval, integer)') is null
union all
-- A superuser who has run postroom.secure() has closed these to everybody (storage/functions/security.sql).
select format('grant execute on function pg_catalog.%%s to %%I', needed.signature, current_user)
from unnest(%s::text[]) as needed (signature)
where not has_function_privilege(needed.signature, 'EXECUTE')"""

FUNCTIONS = ("pg_advisory_lock(bigint)", "pg_stat_get_activity(integer)")
"""What a migrator takes its turn by, and sees by whom it waited for."""


def refuse_without_rights(session: psycopg.Connection[Any]) -> None:
    """Raise `Forbidden` with the statements that a superuser must run, before anything has begun."""
    missing = [statement for (statement,) in session.execute(MISSING, (list(FUNCTIONS),))]
    if missing:
        raise Forbidden(
            f"the owner cannot migrate before a superuser has run, in this database: {'; '.join(missing)};"
            " then migrate again"
        )

"""Whether the database can serve this release: roles, writes, schema, catalogue; each answer says what to do."""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from domain.diagnosis import Diagnosis
from domain.jobs.failures import Failure
from domain.jobs.job import SYSTEM_ORG
from storage.postgres.database import Database, Transaction
from storage.postgres.execution import DatabaseError, StatementAborted, diagnosis_of
from storage.postgres.functions import find_differences
from storage.postgres.logins import AUDITOR_ROLE, GRANT, LEDGER_ROLE, MIGRATE, SILENT, TENANT_ROLE
from storage.postgres.writes import DISK_FULL, LITTLE_MEMORY, NEEDED, QUESTION, SPILL, why_refused

REVISIONS = Path(__file__).resolve().parent.parent / "migrations" / "versions"

FEW = 5


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must be so. `finding` says what was seen, without a secret; `remedy` what to do about it."""

    name: str
    ok: bool
    finding: str
    remedy: str = ""
    lasts: bool = True
    """Whether waiting does not help, when it is not well."""

    answers: bool = True
    """Whether PostgreSQL gave an answer; without one, whatever else it is asked waits for as long, and in vain."""


def not_answered(name: str) -> Check:
    """What nobody could find out, because PostgreSQL does not answer."""
    return Check(
        name, ok=False, finding="could not be asked", remedy="mend the database first", lasts=False, answers=False
    )


def database_checks(database: Database, job_types: Collection[str] = ()) -> tuple[Check, ...]:
    """Examine everything that a process needs of PostgreSQL; never raises because something is wrong.

    A server that does not answer is asked once: each question takes as long as a connection may.
    """
    ledger = guarded("ledger role", lambda: _logged_in(database.ledger(), LEDGER_ROLE))
    if not ledger.answers:
        return (ledger, *silent_checks()[1:])
    return (
        ledger,
        guarded("tenant role", lambda: _logged_in(database.tenant(SYSTEM_ORG), TENANT_ROLE)),
        guarded("auditor role", lambda: _logged_in(database.tenant(SYSTEM_ORG, role=AUDITOR_ROLE), AUDITOR_ROLE)),
        guarded("writes", lambda: _writes(database)),
        guarded("migrations", lambda: _migrations(database)),
        guarded("catalogue", lambda: _catalogue(database, job_types)),
    )


def silent_checks() -> tuple[Check, ...]:
    """What `database_checks` finds when the server does not answer; for those who cannot wait to be sure of it."""
    return (
        _away("ledger role", SILENT),
        not_answered("tenant role"),
        not_answered("auditor role"),
        not_answered("writes"),
        not_answered("migrations"),
        not_answered("catalogue"),
    )


def installation_checks(database: Database, *, is_away: bool = False) -> tuple[Check, ...]:
    """What an administrator must mend, and no process stops for; never raises because something is wrong."""
    if is_away:
        return (not_answered("functions"), not_answered("rights"))
    return (
        guarded("functions", lambda: _functions(database)),
        guarded("rights", lambda: _rights(database)),
    )


def newest_revision(folder: Path = REVISIONS) -> str:
    """The migration that this release ends with."""
    return max(path.stem for path in folder.glob("[0-9]*.py"))


def guarded(name: str, check: Callable[[], Check]) -> Check:
    """What the check finds; where PostgreSQL refuses its questions, why it does."""
    try:
        return check()
    except (Failure, DatabaseError) as error:
        return _away(name, diagnosis_of(error) or SILENT)


def _away(name: str, diagnosis: Diagnosis) -> Check:
    """What a question came to that PostgreSQL, or the way to it, did not let us ask."""
    return replace(_troubled(name, diagnosis), answers=diagnosis.lasts)


def _troubled(name: str, diagnosis: Diagnosis) -> Check:
    return Check(
        name, ok=False, finding=f"PostgreSQL: {diagnosis.finding}", remedy=diagnosis.remedy, lasts=diagnosis.lasts
    )


def _logged_in(transaction: AbstractContextManager[Transaction], role: str) -> Check:
    with transaction as tx:
        row = tx.raw(
            "select session_user::text as name, rolsuper or rolbypassrls as sees_all"
            " from pg_roles where rolname = session_user"
        )[0]
    name = role.removeprefix("postroom_") + " role"
    if row.sees_all:
        return Check(name, ok=False, finding=f"{row.name} is above row-level security", remedy=f"log in as {role}")
    return Check(name, ok=True, finding=f"logged in as {row.name}")


def _writes(database: Database) -> Check:
    """Whether both roles can change anything: each has settings of its own, and perhaps a server of its own."""
    for transaction in (database.ledger(), database.tenant(SYSTEM_ORG)):
        with transaction as tx:
            row = tx.raw(QUESTION)[0]
        diagnosis = why_refused(is_standby=row.is_standby, is_read_only=row.is_read_only)
        if diagnosis is not None:
            database.renew()
            return _troubled("writes", diagnosis)
    if (kept := _kept_from_writing(database)) is not None:
        return _troubled("writes", kept)
    return Check("writes", ok=True, finding="PostgreSQL takes them")


def _kept_from_writing(database: Database) -> Diagnosis | None:
    """Why the engine cannot write to a server that takes writes: it lacks a right, or the disk lacks room."""
    try:
        with database.ledger() as tx:
            if missing := [row.name for row in tx.raw(NEEDED)]:
                return Diagnosis(f"a right is missing: {_shown(missing)}", GRANT)
            tx.raw(LITTLE_MEMORY)
            tx.raw(SPILL)
    except StatementAborted as error:
        if error.diagnosis is not DISK_FULL:
            raise
        return DISK_FULL
    return None


def _migrations(database: Database) -> Check:
    newest = newest_revision()
    with database.ledger() as tx:
        found = [row.version_num for row in tx.raw("select version_num from alembic_version")]
    if found == [newest]:
        return Check("migrations", ok=True, finding=f"at {newest}")
    seen = ", ".join(found) or "nothing"
    if _numbers(found) > _numbers([newest]):
        # A release runs on the schema of the next one, or every process would drop out while it is deployed.
        finding = f"at {seen}, of a newer release than this one ({newest})"
        remedy = "nothing while a release is deployed; then start this process from the newer release"
        return Check("migrations", ok=True, finding=finding, remedy=remedy)
    finding = f"the database is at {seen}, this release needs {newest}"
    return Check("migrations", ok=False, finding=finding, remedy=MIGRATE)


def _numbers(revisions: Collection[str]) -> int:
    """How far the line of migrations is: the highest number that their names begin with."""
    return max((int(name[:4]) for name in revisions if name[:4].isdigit()), default=0)


def _functions(database: Database) -> Check:
    """Whether the schema's functions are those of this release's files, word for word."""
    with database.looking(None) as tx:
        found = [row.version_num for row in tx.raw("select version_num from alembic_version")]
        locale = tx.raw(
            "select coalesce(datlocale, datctype) as name from pg_database where datname = current_database()"
        )[0].name
        bodies = {
            row.proname: row.prosrc
            for row in tx.raw(
                "select p.proname, p.prosrc from pg_proc p join pg_namespace n on n.oid = p.pronamespace"
                " where n.nspname = 'postroom'"
            )
        }
    if found != [newest_revision()]:
        return Check("functions", ok=True, finding="of another release's schema")
    changed = find_differences(bodies)
    if not changed:
        # No function goes by the locale; who wonders at a comparison of words wants to know it.
        return Check("functions", ok=True, finding=f"{len(bodies)}, as in this release; the locale is {locale}")
    remedy = "ask who changed them, and run these files of storage/functions as the owner"
    return Check("functions", ok=False, finding=f"not as in this release: {_shown(changed)}", remedy=remedy)


def _rights(database: Database) -> Check:
    """What handlers may do and must not, by what PostgreSQL itself says (docs: tenancy.md#what-is-checked)."""
    with database.looking(None) as tx:
        if not tx.raw("select 1 where to_regprocedure('postroom.wrong_rights()') is not null"):
            return Check("rights", ok=False, finding="the database is older than its checks", remedy=MIGRATE)
        found = [f"{row.problem}: {row.seen}" for row in tx.raw("select problem, seen from postroom.wrong_rights()")]
    if not found:
        return Check("rights", ok=True, finding="each role may do what it should")
    remedy = f"{MIGRATE}; what stays then, only a superuser can mend: `call postroom.secure()`"
    return Check("rights", ok=False, finding=_shown(found), remedy=remedy)


def _shown(found: Sequence[str]) -> str:
    """The first few: these say enough."""
    return "; ".join(found[:FEW]) + (f"; and {len(found) - FEW} more" if len(found) > FEW else "")


def _catalogue(database: Database, job_types: Collection[str]) -> Check:
    with database.ledger() as tx:
        known = {row.name for row in tx.raw("select name from job_types")}
    missing = sorted(set(job_types) - known)
    if missing:
        remedy = f"start a worker of this release, or {MIGRATE}"
        return Check("catalogue", ok=False, finding=f"not published: {', '.join(missing)}", remedy=remedy)
    return Check("catalogue", ok=True, finding=f"{len(known)} job types")

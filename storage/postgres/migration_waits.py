"""How a migrator waits: without the time limits of other sessions, and it says whom it waits for."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import structlog
from sqlalchemy import URL, Connection, create_engine, text
from sqlalchemy.exc import SQLAlchemyError

from domain.jobs.failures import Transient
from domain.text.log_limit import LogLimit

log = structlog.get_logger(__name__)

MIGRATING = "postroom migrate"
"""By this application name the session is known that runs migrations; there is one at a time."""

LIMITS = ("idle_in_transaction_session_timeout", "transaction_timeout")

LOOK_S = 0.2
"""How often the session is looked at: a tenth of what it waits for a table (storage/migrations/statements.py)."""

END_S = 5.0
"""How long the end of the looking is waited for: a PostgreSQL that is silent by then keeps no migrator from its end."""

LOOKS = 5
"""In so many looks in a row the same session must be in its way to be told: most have gone by the next one."""

BLOCKER = """
select by_pid.pid, blocker.usename, blocker.application_name, blocker.state,
       extract(epoch from clock_timestamp() - blocker.xact_start)::int as seconds,
       wanted.relation::regclass::text as relation
from pg_stat_activity as migrating
join pg_locks as wanted on wanted.pid = migrating.pid and not wanted.granted
cross join unnest(pg_blocking_pids(migrating.pid)) as by_pid (pid)
left join pg_stat_activity as blocker on blocker.pid = by_pid.pid
where migrating.datname = current_database() and migrating.application_name = :migrating
order by blocker.xact_start
limit 1"""

HOLDER = """
select holder.pid, holder.usename, holder.application_name, holder.state,
       extract(epoch from clock_timestamp() - holder.xact_start)::int as seconds, null as relation
from pg_locks as held
left join pg_stat_activity as holder on holder.pid = held.pid
where held.locktype = 'advisory' and held.granted and held.objsubid = 1
  and held.database = (select oid from pg_database where datname = current_database())
  and (held.classid::bigint << 32) + held.objid::bigint = :lock"""


@dataclass(frozen=True)
class OtherSession:
    """A session that has what a migrator waits for. What its login may not see of another's is None."""

    pid: int
    login: str | None
    application: str | None
    state: str | None
    seconds: int | None
    relation: str | None

    def __str__(self) -> str:
        """Which session it is; nothing of its statement, for that may hold mail."""
        if not self.pid:
            return "a prepared transaction (pg_prepared_xacts)"
        login = f" of {self.login}" if self.login else ""
        since = "" if self.seconds is None else f", in a transaction for {self.seconds} s"
        named = f" ({self.application})" if self.application else ""
        return f"session {self.pid}{login}{named}{since}"


class WaitWatch(threading.Thread):
    """Looks who is in the way of the session that migrates, from a session of its own: the one that waits cannot."""

    def __init__(self, url: URL) -> None:
        """Prepare; `start` begins."""
        super().__init__(name="migration waits", daemon=True)
        self._url = url
        self._ended = threading.Event()
        self._said = LogLimit()
        self.blocker: OtherSession | None = None
        """Who was found last."""

    def run(self) -> None:
        """Look until the end; without an answer nobody is told, and the migration goes on."""
        engine = create_engine(self._url, isolation_level="AUTOCOMMIT")
        try:
            with engine.connect() as connection:
                self._look(connection)
        except SQLAlchemyError as error:
            log.warning("migration_not_watched", error=type(error).__name__)
        finally:
            engine.dispose()

    def end(self) -> None:
        """Look no more."""
        self._ended.set()
        self.join(END_S)

    def given_up(self) -> Transient:
        """What to raise for a migration that has waited for too long."""
        found = self.blocker
        table = (found and found.relation) or "a table"
        holder = found or "another session"
        return Transient(
            f"a migration waited too long for {table}, which {holder} has;"
            " end that session, by pg_terminate_backend or where it runs, and migrate again",
            code="database.locked",
        )

    def _look(self, connection: Connection) -> None:
        looks, seen = 0, 0
        while not self._ended.wait(LOOK_S):
            row = connection.execute(text(BLOCKER), {"migrating": MIGRATING}).first()
            if row is None:
                continue
            found = OtherSession(*row)
            looks = looks + 1 if found.pid == seen else 1
            seen, self.blocker = found.pid, found
            if looks >= LOOKS and self._said.note(time.monotonic()):
                log.warning("migration_waits", table=found.relation, holder=str(found), state=found.state)


def lift_time_limits(connection: Connection) -> None:
    """Let this session take as long as it takes: what is set for its login is meant for sessions that hang.

    Of these, one would end the session that keeps other migrators out, which is idle while the migrations run.
    """
    for limit in LIMITS:
        connection.execute(text(f"set {limit} = 0"))


@contextmanager
def watched(url: URL) -> Iterator[WaitWatch]:
    """Watch the migrations that run in the block."""
    watch = WaitWatch(url)
    watch.start()
    try:
        yield watch
    finally:
        watch.end()


def find_holder(connection: Connection, lock: int) -> OtherSession | None:
    """The session that holds the advisory lock of migrators; None when it has just let go."""
    row = connection.execute(text(HOLDER), {"lock": lock}).first()
    return None if row is None else OtherSession(*row)

"""The sessions that a migrator waits for: which they are, and which of them must end."""

from dataclasses import dataclass
from typing import Any

import psycopg

BLOCKER = """
select by_pid.pid, blocker.usename, blocker.application_name, blocker.state,
       extract(epoch from clock_timestamp() - blocker.xact_start)::int as seconds,
       -- Who waits for the end of a transaction that has changed a row waits for no table, and has the row's turn.
       coalesce(wanted.relation, (select turn.relation from pg_locks as turn
                                  where turn.pid = wanted.pid and turn.locktype = 'tuple' and turn.granted
                                  limit 1))::regclass::text as relation,
       -- Not by its start, which is hidden from an owner that is no superuser.
       (select held.virtualtransaction from pg_locks as held where held.pid = by_pid.pid limit 1) as transaction
from pg_locks as wanted
cross join unnest(pg_blocking_pids(wanted.pid)) as by_pid (pid)
left join pg_stat_activity as blocker on blocker.pid = by_pid.pid
where wanted.pid = %s and not wanted.granted
order by blocker.xact_start, by_pid.pid
limit 1"""

HOLDER = """
select holder.pid, holder.usename, holder.application_name, holder.state,
       extract(epoch from clock_timestamp() - holder.xact_start)::int as seconds
from pg_locks as held
left join pg_stat_activity as holder on holder.pid = held.pid
where held.locktype = 'advisory' and held.granted and held.objsubid = 1
  and held.database = (select oid from pg_database where datname = current_database())
  and (held.classid::bigint << 32) + held.objid::bigint = %s"""

LOOKS = 5
"""In so many looks in a row the same session must be in the way, in one transaction: most have gone by the next one."""


@dataclass(frozen=True)
class OtherSession:
    """A session that has what a migrator waits for. What its login may not see of another's is None."""

    pid: int
    login: str | None
    application: str | None
    state: str | None
    seconds: int | None
    relation: str | None = None
    transaction: str | None = None

    def __str__(self) -> str:
        """Which session it is; nothing of its statement, for that may hold mail."""
        if not self.pid:
            return "a prepared transaction (pg_prepared_xacts)"
        login = f" of {self.login}" if self.login else ""
        since = "" if self.seconds is None else f", in a transaction for {self.seconds} s"
        named = f" ({self.application})" if self.application else ""
        return f"session {self.pid}{login}{named}{since}"


class Blocker:
    """What is in the way of a migrator, by looks that follow each other: one session that stays, or others in turn."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.session: OtherSession | None = None
        """The one that has stayed in the way in one transaction until the last look that found anyone."""
        self.table: str | None = None
        """What was waited for last."""
        self._seen: tuple[int, str | None] | None = None
        self._looks = 0

    def note(self, found: OtherSession | None) -> None:
        """Take in one look: who was in the way, or nobody."""
        if found is None:
            self._seen = None
            return
        key = found.pid, found.transaction
        self._looks = self._looks + 1 if key == self._seen else 1
        self._seen, self.table = key, found.relation
        self.session = found if self._looks >= LOOKS else None

    def forget(self) -> None:
        """Begin anew, with another try."""
        self.session, self._seen = None, None


def find_blocker(connection: psycopg.Connection[Any], pid: int) -> OtherSession | None:
    """The session that is in the way of this one; None when it waits for nobody."""
    row = connection.execute(BLOCKER, (pid,)).fetchone()
    return None if row is None else OtherSession(*row)


def find_holder(connection: psycopg.Connection[Any], lock: int) -> OtherSession | None:
    """The session that holds the advisory lock of migrators; None when it has just let go."""
    row = connection.execute(HOLDER, (lock,)).fetchone()
    return None if row is None else OtherSession(*row)

"""Which session a migrator waits for. PostgreSQL knows that only while the migrator waits, so another session asks."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

import psycopg
from sqlalchemy import URL

from storage.postgres.bounded import BoundedConnection, connect_bounded

LOOK_S = 0.1
"""After how long the question is asked, and asked again until the migrator waits."""
ANSWER_S = 5.0
"""How long an answer may take."""

BLOCKER = """
select coalesce(wanted.relation::regclass::text, 'a lock'), by_pid.pid, holder.usename, holder.application_name,
       extract(epoch from clock_timestamp() - holder.xact_start)::int
from unnest(pg_blocking_pids(%(pid)s)) as by_pid (pid)
left join pg_stat_activity as holder on holder.pid = by_pid.pid
left join pg_locks as wanted on wanted.pid = %(pid)s and not wanted.granted
limit 1"""


class Blocker:
    """The session that is in the way of another one."""

    def __init__(self) -> None:
        """Nobody has looked yet."""
        self.holder = "what another session has"

    def note(self, wanted: str, pid: int, login: str | None, application: str | None, seconds: int | None) -> None:
        """Say what is waited for and who has it; nothing of its statement, for that may hold mail."""
        who = f"session {pid}" if pid else "a prepared transaction (pg_prepared_xacts)"
        who += f" of {login}" if login else ""
        who += f" ({application})" if application else ""
        since = "" if seconds is None else f", in a transaction for {seconds} s"
        self.holder = f"{wanted}, which {who} has{since}"


@contextmanager
def look_for_blocker(url: URL | None, pid: int) -> Iterator[Blocker]:
    """Ask, while the session `pid` works in the block, who is in its way; with a URL only.

    An owner who may have no second connection is not told.
    """
    found, ended = Blocker(), Event()
    other = None if url is None else _connect(url)
    if other is None:
        yield found
        return

    def ask(other: BoundedConnection) -> None:
        with suppress(psycopg.Error):
            while not ended.wait(LOOK_S):
                row = other.execute(BLOCKER, {"pid": pid}).fetchone()
                if row is not None:
                    found.note(*row)
                    return

    looking = Thread(target=ask, args=(other,), name="who blocks the migration", daemon=True)
    looking.start()
    try:
        yield found
    finally:
        ended.set()
        looking.join(ANSWER_S)
        other.close()


def _connect(url: URL) -> BoundedConnection | None:
    _, options = url.get_dialect()().create_connect_args(url)
    try:
        return connect_bounded(answer_within_s=ANSWER_S, autocommit=True, **options)
    except psycopg.Error:
        return None

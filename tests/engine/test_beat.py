"""What beat's schedule may name, and what becomes of a tick while PostgreSQL is away."""

import pytest
from psycopg import Connection

from beat_schedule import EVERY
from domain.payloads.maintenance import FullSyncPayload
from engine.beat import OWED_AGAIN_S, LedgerScheduler, tick_payload
from engine.runtime import Runtime
from storage.postgres.execution import DatabaseUnavailable
from tasks import celery as app


def test_a_name_of_the_schedule_becomes_a_payload_without_values() -> None:
    assert tick_payload("maintenance.full_sync") == FullSyncPayload()
    assert all(set(tick_payload(name).document().values()) <= {None} for name in EVERY)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("maintenance.nobody", "the schedule names maintenance.nobody, which is no job type of this release"),
        ("sync", "the schedule names sync; the name of that job type is gmail.sync"),
        ("gmail.sync", "the schedule names gmail.sync, whose payload needs the field account_id"),
    ],
)
def test_a_name_that_the_schedule_may_not_have_is_refused_with_the_reason(name: str, words: str) -> None:
    with pytest.raises(ValueError, match=f"^{words}$"):
        tick_payload(name)


class AwayFor:
    """A database that cannot be reached for so many questions."""

    def __init__(self, process: Runtime, questions: int) -> None:
        self._database, self._left = process.database, questions

    def ledger(self) -> object:
        self._ask()
        return self._database.ledger()

    def statements(self) -> object:
        self._ask()
        return self._database.statements()

    def _ask(self) -> None:
        if self._left:
            self._left -= 1
            raise DatabaseUnavailable("away")

    def dispose(self) -> None:
        self._database.dispose()


def test_a_tick_that_could_not_be_enqueued_is_owed_until_it_is(process: Runtime, database: Connection) -> None:
    """The next one of a daily tick comes a day later."""
    process.clock()
    process.database = AwayFor(process, 30)  # type: ignore[assignment] # as much of it as beat uses
    scheduler = LedgerScheduler(app=app)
    daily = next(entry for entry in scheduler.schedule.values() if entry.task == "maintenance.full_sync")
    scheduler.apply_async(daily)
    ticks = "select count(*) from jobs where job_type = 'maintenance.full_sync'"
    pauses: list[float] = []
    while database.execute(ticks).fetchone() == (0,):
        assert len(pauses) <= 30, "given up"
        pauses.append(scheduler.tick())
    assert len(pauses) > 1
    assert max(pauses[:-1]) <= OWED_AGAIN_S

"""The page on backups as it is written: a ledger is restored to a moment, and what was done since is not done again."""

import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from pydantic import SecretStr

from sandbox.servers.postgres_server import PostgresServer
from sandbox.servers.unprivileged import UNPRIVILEGED, make_reachable, may_become
from sandbox.servers.wheel_binaries import find_postgres_programs
from settings import Settings
from storage.postgres.migrate import upgrade
from tests.doubles.probe_jobs import EffectOrder, Perilous
from tests.fleet.fleet import Fleet
from tests.recipes.machine import Machine
from tests.waiting import eventually
from tests.written_pages import DOCS, Page

PAGE = Page(DOCS / "howto" / "back-up-and-restore.md")
EACH = 5
WRITES_WITHIN_S = 60.0
"""How long the replay of the archive may take on a busy machine, in seconds."""


@dataclass(frozen=True)
class Place:
    """A server whose log is archived, and a reader of the page beside it."""

    server: PostgresServer
    fleet: Fleet
    machine: Machine
    backup: Path

    def run(self, block: str, **variables: str) -> None:
        status, said = self.machine.run(block.replace("/backup", str(self.backup)), **variables)
        assert status == 0, said

    def lose(self) -> None:
        """The disk is put aside, and the log that was not archived yet is saved."""
        self.server.kill()
        aside = self.server.data.rename(self.server.data.with_name("aside"))
        for segment in (aside / "pg_wal").iterdir():
            if segment.is_file() and not (self.backup / "wal" / segment.name).exists():
                self._give(Path(shutil.copy(segment, self.backup / "wal")))

    def start_restored(self) -> None:
        for path in (self.server.data, *self.server.data.rglob("*")):
            self._give(path)
        self.server.start()
        eventually(self._takes_writes, within=WRITES_WITHIN_S, describe="the end of the replay")

    def _give(self, path: Path) -> None:
        """To the user that the server runs as."""
        if may_become():
            shutil.chown(path, UNPRIVILEGED)

    def _takes_writes(self) -> bool:
        return self.fleet.ask("select pg_is_in_recovery()") == [(False,)]


@pytest.fixture
def place(tmp_path: Path, broker_url: str) -> Iterator[Place]:
    archive, base, *_ = tmp_path / "backup" / "wal", PAGE.code("sh")[0]
    archive.mkdir(parents=True)
    archive.chmod(0o777)
    make_reachable(archive / "segment")
    (setting,) = PAGE.code("sql")
    with ExitStack() as stack:
        server = stack.enter_context(PostgresServer(tmp_path / "postgres"))
        with psycopg.connect(server.url(), autocommit=True) as owner:
            for line in setting.replace("/backup", str(archive.parent)).splitlines():
                owner.execute(line.encode())
        server.restart()
        upgrade(Settings(database_url=SecretStr(server.url())))
        fleet = Fleet(server.url(), broker_url, tmp_path, stack)
        exports = f"export PATH={find_postgres_programs()}:$PATH OWNER={server.url()} PGDATA={server.data}"
        place = Place(server, fleet, Machine(tmp_path, stack, exports=exports), archive.parent)
        place.run(base)
        yield place


def work_off(fleet: Fleet, name: str, job_ids: list[UUID]) -> Counter[str]:
    worker = fleet.worker(name)
    worker.ready()
    ended = fleet.wait_for_end(job_ids)
    worker.stop()
    return ended


@pytest.mark.parametrize("is_said", [True, False], ids=["said", "left unsaid"])
def test_what_was_done_after_the_restored_moment_is_found_out_and_not_repeated(place: Place, *, is_said: bool) -> None:
    fleet = place.fleet
    before = fleet.enqueue(Perilous(key="before"))
    assert work_off(fleet, "before", [before]) == {"succeeded": 1}
    looked_up = [fleet.enqueue(Perilous(key=f"mail-{number}")) for number in range(EACH)]
    unclear = fleet.enqueue(EffectOrder(key="text", goes=["ok"], found="unclear"))
    moment = fleet.ask("select clock_timestamp()")[0][0].isoformat()
    assert work_off(fleet, "lost", [*looked_up, unclear]) == {"succeeded": EACH + 1}
    after = fleet.enqueue(Perilous(key="after"))
    assert work_off(fleet, "after", [after]) == {"succeeded": 1}

    _, restore, say, *_ = PAGE.code("sh")
    (base,) = (place.backup / "base").iterdir()
    place.lose()
    place.run(restore, MOMENT=moment, DAY=base.name)
    place.start_restored()
    assert fleet.states([before, *looked_up, unclear, after]) == {"succeeded": 1, "queued": EACH + 1}
    if is_said:
        place.run(say, MOMENT=moment, **fleet.environment)

    ended = work_off(fleet, "anew", [*looked_up, unclear])
    calls = Counter(line[1] for line in fleet.outside.lines("call"))
    assert calls["before"] == calls["after"] == 1
    times = 1 if is_said else 2
    assert {calls[f"mail-{number}"] for number in range(EACH)} == {times}, "a ledger that nobody tells acts twice"
    assert ended == ({"succeeded": EACH, "dead": 1} if is_said else {"succeeded": EACH + 1})
    found = fleet.ask("select output -> 'found' from jobs where id = any (%s)", looked_up)
    assert found == [(True if is_said else None,)] * EACH

"""A ledger that a small chaos run could have left behind, whole, for the checker to be shown damage in."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import pytest
from psycopg import Connection

from engine.app import publish_catalogue
from engine.catalogue import catalogue
from engine.enqueue import enqueue_jobs
from engine.process.runtime import Runtime, install
from engine.worker import runner
from engine.worker.lease import renew
from settings import Settings
from tests.chaos import chaos_jobs as kinds
from tests.chaos.deeds import FOLDER, Outside
from tests.chaos.verdict import Verdict, judge
from tests.doubles.factories import make_org


@dataclass
class Aftermath:
    """What the checker reads."""

    database: Connection
    outside: Outside
    accepted: set[UUID]
    by_type: dict[str, UUID] = field(default_factory=dict)

    def judge(self) -> Verdict:
        """The checker's verdict on it."""
        return judge(self.database, self.outside, self.accepted, [])


@pytest.fixture
def aftermath(
    settings: Settings, database: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Aftermath]:
    """One job of each sort that the checker knows, run to its end in this process."""
    monkeypatch.setenv(FOLDER, str(tmp_path))
    process = Runtime(settings, dice=lambda: 0.0)
    install(process)
    try:
        publish_catalogue()
        renew(process)
        org = make_org(database)
        jobs = [
            kinds.Deed(key="deed:one", ms=0).job(org_id=org),
            kinds.LightDeed(key="deed:light", ms=0).job(org_id=org),
            kinds.Parent().job(org_id=org),
            kinds.Posting(ms=0).job(org_id=org),
            kinds.Turn(account_id="a").job(org_id=org),
            kinds.Doomed(failures=1).job(org_id=org),
        ]
        with process.database.ledger() as tx:
            accepted = {answer.job_id for answer in enqueue_jobs(tx, jobs)}
        drain(process, database)
        by_type = {row[1]: row[0] for row in database.execute("select id, job_type from jobs")}
        yield Aftermath(database, Outside(tmp_path), accepted, by_type)
    finally:
        install(None)
        process.close()


def drain(process: Runtime, database: Connection) -> None:
    """Run what is queued until nothing is."""
    while row := database.execute("select id, job_type from jobs where state = 'queued' limit 1").fetchone():
        job_type = catalogue.find(row[1])
        assert job_type is not None
        assert runner.run(process, job_type, row[0]) != "not_claimed"

"""A small finished run without any problem; tests damage it and expect the checks to report that."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import pytest
from psycopg import Connection

from engine.app import publish_catalogue
from engine.catalogue import catalogue
from engine.enqueue import enqueue_jobs
from engine.runtime import Runtime, install
from engine.worker.lease import renew
from settings import Settings
from tests.chaos import chaos_jobs as kinds
from tests.chaos.checks import Findings, check_run
from tests.chaos.outside import FOLDER, Outside
from tests.doubles.factories import make_org
from tests.doubles.inline_worker import run_job


@dataclass
class FinishedRun:
    """What the checks read."""

    database: Connection
    outside: Outside
    accepted: set[UUID]
    by_type: dict[str, UUID] = field(default_factory=dict)

    def check(self) -> Findings:
        """Run the checks on it."""
        return check_run(self.database, self.outside, self.accepted, [])


@pytest.fixture
def finished_run(
    settings: Settings, database: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[FinishedRun]:
    """One job of each type that the checks look at, run to its end in this process."""
    monkeypatch.setenv(FOLDER, str(tmp_path))
    process = Runtime(settings, jitter=lambda: 0.0)
    install(process)
    try:
        publish_catalogue()
        renew(process)
        org = make_org(database)
        jobs = [
            kinds.Effect(key="effect:one", ms=0).job(org_id=org),
            kinds.QuickEffect(key="effect:quick", ms=0).job(org_id=org),
            kinds.Parent().job(org_id=org),
            kinds.Posting(ms=0).job(org_id=org),
            kinds.Turn(account_id="a").job(org_id=org),
            kinds.Doomed(failures=1).job(org_id=org),
        ]
        with process.database.ledger() as tx:
            accepted = {answer.job_id for answer in enqueue_jobs(tx, jobs)}
        drain(process, database)
        by_type = {row[1]: row[0] for row in database.execute("select id, job_type from jobs")}
        yield FinishedRun(database, Outside(tmp_path), accepted, by_type)
    finally:
        install(None)
        process.close()


def drain(process: Runtime, database: Connection) -> None:
    """Run queued jobs until none is left."""
    while row := database.execute("select id, job_type from jobs where state = 'queued' limit 1").fetchone():
        job_type = catalogue.find(row[1])
        assert job_type is not None
        assert run_job(process, job_type, row[0]) != "not_claimed"

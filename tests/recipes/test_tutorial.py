"""The tutorial runs as it is written, in a copy of the repository: its files, its commands, and its job in a fleet."""

import json
import re
from pathlib import Path

import psycopg

from tests.recipes.machine import Machine
from tests.waiting import eventually
from tests.written_pages import DOCS, Page

TUTORIAL = Page(DOCS / "tutorial" / "first-job.md")
ENDS_WITHIN_S = 120.0
"""How long a job may take in a fleet that has just started on a busy machine, in seconds."""


def test_the_tutorial_leads_to_a_job_that_has_counted(reader: Machine, copy: Path) -> None:
    begin, test, keep, start, enqueue, show, stop = TUTORIAL.code("sh")
    reader.do(begin)
    files = re.findall(r"Change `(\S+)` to", TUTORIAL.text)
    for name, content in zip(files, TUTORIAL.code("python"), strict=True):
        (copy / name).write_text(content)
    assert "1 passed" in reader.do(test)
    reader.do(keep)
    assert (copy / "tests/golden/digests.count_waiting.v1.json").exists()
    listed = reader.do(f"{start.strip()} --json")
    reader.exports += "\n. build/up/environment"
    (account, *_) = json.loads(listed[listed.rindex("\n[") :])
    ids = {"ORG_ID": account["org_id"], "ACCOUNT_ID": account["account_id"]}
    for gap, value in ids.items():
        enqueue = enqueue.replace(gap, value)
    job_id = json.loads(reader.do(f"{enqueue.strip()} --json"))["job_id"]
    shown = eventually(
        lambda: (found := reader.do(show.replace("JOB_ID", job_id))) and "job.succeeded" in found and found,
        within=ENDS_WITHIN_S,
        describe="the job to succeed",
    )
    assert '"waiting"' in str(shown)
    (history,) = TUTORIAL.code("sql")
    with psycopg.connect(reader.do('printf %s "$POSTROOM_DATABASE_URL"')) as database:
        database.execute("set role postroom_ledger")
        events = [row[1] for row in database.execute(history.replace("JOB_ID", job_id).encode()).fetchall()]
    assert events == ["job.enqueued", "job.started", "job.succeeded"]
    reader.do(stop)

"""README's own job in five minutes: its file and its lines, as they are written, in a copy of the repository."""

import re
from pathlib import Path

import httpx2

from tests.house.reading import ROOT
from tests.recipes.machine import Machine
from tests.waiting import eventually
from tests.written_pages import Page

README = Page(ROOT / "README.md")
ENDS_WITHIN_S = 120.0
"""How long a job may take in a fleet that has just started on a busy machine, in seconds."""


def block_with(language: str, words: str) -> str:
    """The block of README that has the words."""
    (found,) = [block for block in README.code(language) if words in block]
    return found


def test_five_lines_lead_to_a_job_of_ones_own_that_has_succeeded(reader: Machine, copy: Path) -> None:
    module = copy.parent / "bakery" / "orders.py"  # the machine's home
    module.parent.mkdir()
    module.write_text(block_with("python", "orders.confirm"))
    export, up, environment, enqueue, show = block_with("sh", "orders.confirm").splitlines()
    reader.exports += f"\n{export}"
    said = reader.do(up)
    reader.exports += f"\n{environment}"
    (job_id,) = re.findall(r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b", reader.do(enqueue))
    shown = str(
        eventually(
            lambda: (found := reader.do(show.replace("JOB_ID", job_id))) and "job.succeeded" in found and found,
            within=ENDS_WITHIN_S,
            describe="the job to succeed",
        )
    )
    assert '"confirmed": 4711' in shown
    assert "orders.confirm" in shown
    assert "order_confirmed" in (copy / "build" / "up" / "logs" / "worker-default.log").read_text()
    (console,) = re.findall(r"To look at it: +(http\S+/console) ", said)
    (sign_in,) = re.findall(r"http\S+link=\S+", said)
    assert httpx2.get(console, follow_redirects=True).status_code == httpx2.codes.OK
    assert "password" in httpx2.get(sign_in).text
    reader.do("make down")

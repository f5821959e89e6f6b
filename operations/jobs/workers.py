"""Workers: which processes run jobs, since when, and how many each holds."""

from datetime import datetime
from typing import ClassVar
from uuid import UUID

from pydantic import Field

from operations.call import Call
from operations.operation import Area, OperatorsOnly, Record
from operations.pages import Page, Window

WORKERS = Area("workers", "See which processes run jobs, and how many each holds.")
FLEET = OperatorsOnly("a worker runs the jobs of all orgs, and an API key is of one")


class WorkerView(Record):
    """A process that runs jobs, or did until its lease ended."""

    plural: ClassVar = "workers"
    columns: ClassVar = (
        "worker_id", "state", "hostname", "version", "queues", "slots", "held", "started_at", "lease_until",
    )  # fmt: skip
    worker_id: UUID
    state: str = Field(description="`active`, or `gone`: its lease has ended, and its jobs are rescued.")
    hostname: str
    pid: int
    node_id: UUID = Field(description="What the processes of one machine share.")
    started_at: datetime
    lease_until: datetime = Field(description="It renews the lease while it lives.")
    version: str = Field(description="Of which release it is.")
    queues: list[str] = Field(description="Those that it serves.")
    slots: int = Field(description="How many jobs it runs at a time.")
    own_job_types: list[str] = Field(description="Those of packages that it has beside the fleet's own.")
    held: int = Field(description="Jobs that it has claimed or runs, among the 10,000 that are checked next.")


@WORKERS.look("list", FLEET)
def list_workers(call: Call, window: Window) -> Page[WorkerView]:
    """List the processes that run jobs, and those that have gone and are not forgotten yet; the longest lease first."""
    with call.reading() as tx:
        return window.records(tx, "list_workers", WorkerView)

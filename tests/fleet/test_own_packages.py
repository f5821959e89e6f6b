"""Packages of a fleet's own: a worker without one, two packages that take one name, and a periodic job."""

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from operations.fleet_checks import Looking
from operations.health import package_check
from sandbox.servers.child_process import ChildProcess, Command
from storage.postgres.readiness import Check
from tests.examples.shop.running_shop import HAS_THE_SHOP, PROJECT
from tests.fleet.fleet import Fleet
from tests.house.reading import ROOT
from tests.servers.python_processes import run_python, spawn_python
from tests.waiting import eventually

OF_THE_SHOP = ("notifications", "exports")
TICKING = """
from datetime import timedelta
from domain.jobs.queues import Queue
from domain.payloads.payload import Payload
from engine.catalogue import job
from engine.context import JobContext

class Count(Payload, job_type="stock.count"): ...

@job(queue=Queue.MAINTENANCE, every=timedelta(seconds=1))
def count(ctx: JobContext, payload: Count) -> None: ...
"""


@pytest.fixture
def order_id(fleet: Fleet) -> UUID:
    """An order of the fleet's org, in the shop's tables."""
    with psycopg.connect(fleet.database_url, autocommit=True) as owner:
        owner.execute((PROJECT / "schema.sql").read_bytes())
    insert = "insert into shop.orders (org_id, buyer, total_cents) values (%s, 'Ada', 100) returning id"
    return UUID(str(fleet.ask(insert, fleet.org)[0][0]))


def package(folder: Path, name: str, text: str) -> dict[str, str]:
    """The environment of a process that has a package of one module."""
    (folder / f"{name}.py").write_text(text)
    return {"POSTROOM_JOBS": name, "PYTHONPATH": str(folder)}


def examined(fleet: Fleet) -> Check:
    """What doctor and the console's health say of packages."""
    with fleet.client.database.ledger() as tx:
        return package_check(Looking(tx, fleet.client.settings, fleet.client.clock()))


def confirm(fleet: Fleet, order_id: UUID) -> UUID:
    query = "select postroom.enqueue('orders.confirm', %s, jsonb_build_object('order_id', %s::uuid))"
    ((job_id,),) = fleet.ask(query, fleet.org, order_id)
    return UUID(str(job_id))


def test_a_worker_without_the_package_loses_no_job_and_everybody_says_what_is_missing(
    fleet: Fleet, order_id: UUID
) -> None:
    knowing = fleet.worker("knowing", queues=OF_THE_SHOP, settings=HAS_THE_SHOP)
    knowing.ready()
    assert examined(fleet).finding.startswith("shop in exports: invoices.make; shop in notifications: orders.confirm")
    knowing.stop()
    plain = fleet.worker("plain", queues=OF_THE_SHOP)
    plain.ready()
    assert examined(fleet).ok  # nothing waits
    job_id = confirm(fleet, order_id)
    plain.wait_for_log("job_type_unknown_here")
    eventually(lambda: fleet.causes(job_id), within=30, describe="the job to be given back")
    assert fleet.causes(job_id) == ["unknown type"]
    assert fleet.ask("select state, attempt, losses from jobs where id = %s", job_id) == [("queued", 0, 0)]
    assert '"job_type": "orders.confirm"' in plain.logs()
    found = examined(fleet)
    assert not found.ok
    assert found.finding.startswith("1 of 1 workers of notifications lack shop: ")
    assert found.finding.endswith("of orders.confirm")
    plain.stop()
    knowing.start()
    assert fleet.wait_for_end([job_id], within=90) == {"succeeded": 1}
    fleet.check()


def test_one_worker_of_two_that_lacks_the_package_is_named_before_a_job_waits(fleet: Fleet) -> None:
    fleet.worker("knowing", queues=OF_THE_SHOP, settings=HAS_THE_SHOP).ready()
    fleet.worker("plain", queues=("exports",)).ready()
    found = examined(fleet)
    assert not found.ok
    assert found.finding.startswith("1 of 2 workers of exports lack shop: ")


def test_another_package_does_not_take_a_name_that_is_published(fleet: Fleet, tmp_path: Path) -> None:
    fleet.worker("knowing", queues=OF_THE_SHOP, settings=HAS_THE_SHOP).ready()
    rival = (
        TICKING.replace("stock.count", "invoices.make")
        .replace("def count", "def make")
        .replace(", every", ", deadline")
    )
    node = fleet.worker("rival", queues=("maintenance",), settings=package(tmp_path, "invoices", rival))
    eventually(lambda: not node.alive, within=60, describe="the rival's end")
    assert node.exit_status != 0
    assert "invoices.make takes the name of invoices.make, which the package shop has in this ledger" in node.logs()
    assert fleet.ask("select package, queue from job_types where name = 'invoices.make'") == [("shop", "exports")]


def test_a_job_that_says_every_is_enqueued_by_beat(fleet: Fleet, tmp_path: Path) -> None:
    has_the_stock = package(tmp_path, "stock", TICKING)
    fleet.worker("stock", queues=("maintenance",), settings=has_the_stock).ready()
    command = [sys.executable, "-m", "celery", "-A", "tasks", "beat", "--pidfile=", "--loglevel=INFO"]
    with ExitStack() as stack:
        process = Command(command, environment=fleet.environment | has_the_stock, folder=ROOT)
        beat = ChildProcess(process, log=tmp_path / "beat.log", spawn=spawn_python)
        beat.start()
        stack.callback(beat.stop)
        done = "select count(*) from jobs where job_type = 'stock.count' and state = 'succeeded' and actor_id = 'beat'"
        eventually(lambda: fleet.ask(done)[0][0] >= 2, within=60, describe="two ticks that were run")
        assert fleet.ask("select count(*) > 0 from jobs where job_type = 'maintenance.check_watches'") == [(True,)]
    fleet.ask("delete from beat_ticks where job_type = 'stock.count'")
    _, said = run_python(
        "celery", "-A", "tasks", "doctor", "--json", folder=ROOT, environment=fleet.environment | has_the_stock
    )
    (found,) = [row for row in json.loads(said[said.index("[") :]) if row["name"] == "beat"]
    assert "never ticked for stock.count" in found["finding"]

"""The recipes for production run as they are written, on a bare machine and a fresh database; the fleet is well then.

Values that a page leaves to its reader (`…`, the hosts `db` and `broker`) are filled in, and ports are free ones.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import httpx2
import psycopg
import pytest

from domain.jobs.queues import Queue
from sandbox.servers.free_port import LOOPBACK, find_free_port
from sandbox.servers.postgres_server import PostgresServer
from sandbox.servers.valkey_server import ValkeyServer
from tests.house.reading import ROOT
from tests.recipes.machine import Machine
from tests.waiting import eventually
from tests.written_pages import DOCS, Page

README = Page(ROOT / "README.md")
HOW_TO = Page(DOCS / "howto" / "run-in-production.md")
READY_WITHIN_S = 300.0
"""How long a whole fleet may take to start on a busy machine of two cores, in seconds."""
OWNER = "the_owner"
"""As the how-to calls an owner that is no superuser."""


class Reader:
    """Fills in what a page leaves open, and knows where the servers are."""

    def __init__(self, postgres: PostgresServer, valkey: ValkeyServer, folder: Path) -> None:
        self.database = f"{LOOPBACK}:{postgres.port}/postroom"
        self.broker = valkey.url().removeprefix("redis://")
        self.folder = folder
        self.gateway, self.flower = find_free_port(), find_free_port()

    def fill(self, text: str) -> str:
        """The text of a page with values in its gaps."""
        for gap, value in {
            "@db/postroom": f"@{self.database}",
            "redis://broker/0": f"redis://{self.broker}",
            "/var/lib/postroom": str(self.folder),
            " --host 0.0.0.0 --port 8000": "",
            "python -m gateway": f"python -m gateway --port {self.gateway}",
            "tasks flower": f"tasks flower --address={LOOPBACK} --port={self.flower}",
            "…": "chosen-by-the-reader",
        }.items():
            text = text.replace(gap, value)
        return re.sub(r"\s+#.*$", "", text, flags=re.MULTILINE)

    def look(self, port: int, path: str) -> tuple[int, str]:
        """Status and body of an answer; 0 while nobody listens."""
        try:
            answer = httpx2.get(f"http://{LOOPBACK}:{port}{path}")
        except httpx2.TransportError:
            return 0, ""
        return answer.status_code, answer.text


@pytest.fixture
def reader(own_postgres: PostgresServer, own_valkey: ValkeyServer, tmp_path: Path) -> Reader:
    """With a server that asks every role of ours for its password."""
    rules = own_postgres.data / "pg_hba.conf"
    roles = "postroom_ledger,postroom_tenant,postroom_auditor,postroom_watch"
    rules.write_text(f"host all {roles} {LOOPBACK}/32 scram-sha-256\n{rules.read_text()}")
    with psycopg.connect(own_postgres.url(), autocommit=True) as superuser:
        superuser.execute("select pg_reload_conf()")
        superuser.execute("create role owner superuser login")
        superuser.execute(f"create role {OWNER} login createrole".encode())
        superuser.execute(f"create database postroom owner {OWNER}".encode())
    return Reader(own_postgres, own_valkey, tmp_path)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with ExitStack() as stack:
        yield Machine(tmp_path, stack)


def recipe() -> list[str]:
    """The lines of README's production recipe."""
    block = next(block for block in README.code("sh") if "database migrate" in block)
    return [line for line in block.splitlines() if line and not line.startswith("#")]


def of_processes(commands: Sequence[str]) -> list[str]:
    """The commands of processes that stay, one worker for every queue, by the page's command."""
    workers = {found[1]: command for command in commands if (found := re.search(r"worker -Q (\w+)", command))}
    computing = "planning", "exports"
    for queue in Queue:
        pattern = "planning" if queue.value in computing else "critical"
        workers.setdefault(queue.value, workers[pattern].replace(pattern, queue.value))
    return [*workers.values(), *(one for one in commands if re.search("tasks beat|gateway|flower", one))]


def run_fleet(machine: Machine, reader: Reader, commands: Sequence[str]) -> None:
    """Start what stays, and expect a gateway that is ready and a doctor who finds no fault."""
    started = [machine.start(command) for command in of_processes(commands)]
    assert len(started) == len(Queue) + 3
    eventually(
        lambda: all(process.running for process in started) and reader.look(reader.gateway, "/readyz")[0] == 200,
        within=READY_WITHIN_S,
        describe="the gateway to be ready",
    )
    eventually(
        lambda: machine.run("celery -A tasks doctor")[0] == 0 or not all(process.running for process in started),
        within=READY_WITHIN_S,
        describe="the doctor to find no fault",
    )
    ended = {process.command.arguments[-1]: process.read_log()[-2000:] for process in started if not process.running}
    assert ended == {}
    assert machine.run("celery -A tasks doctor")[0] == 0
    assert reader.look(reader.gateway, "/readyz")[0] == 200
    assert reader.look(reader.flower, "/")[0] == 401


def test_the_recipe_of_readme_runs(machine: Machine, reader: Reader) -> None:
    lines = reader.fill("\n".join(recipe())).splitlines()
    machine.exports = "\n".join(line for line in lines if line.startswith("export "))
    folder, migrate, *commands, doctor = [line for line in lines if not line.startswith("export ")]
    assert doctor == "celery -A tasks doctor"
    for line in (folder, migrate):
        assert machine.run(line)[0] == 0
    run_fleet(machine, reader, commands)


def test_the_how_to_runs_with_an_owner_that_is_no_superuser(
    machine: Machine, reader: Reader, own_postgres: PostgresServer
) -> None:
    roles, backlog = HOW_TO.code("sql")
    migrate, doctor = (block.strip() for block in HOW_TO.code("sh"))
    lines = reader.fill("\n".join(recipe())).splitlines()
    machine.exports = "\n".join(line for line in lines if line.startswith("export "))
    owner = f"postgresql://{OWNER}@{reader.database}"
    with psycopg.connect(own_postgres.url("postroom"), autocommit=True) as superuser:
        superuser.execute(roles.encode())
        status, output = machine.run(migrate, POSTROOM_DATABASE_URL=owner)
        assert status == 0, output
        superuser.execute("call postroom.secure()")
        table = [row.split("|")[2].strip(" `") for row in HOW_TO.text.splitlines() if re.search(r"\| `(cel|pyt)", row)]
        commands = [reader.fill(command) for command in table]
        machine.exports += "\nexport FLOWER_BASIC_AUTH=user:chosen-by-the-reader"
        assert doctor == "celery -A tasks doctor"
        run_fleet(machine, reader, commands)
        superuser.execute("set role postroom_ledger")
        assert superuser.execute(backlog.encode()).fetchall() is not None

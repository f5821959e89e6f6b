"""The deployment files: a worker for every queue, only settings that exist, no secrets, queries that run."""

import re
import subprocess
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from psycopg import Connection
from pydantic import SecretStr

from domain.jobs.monitoring.liveness import STOP_MARGIN_S
from domain.jobs.queues import Queue
from domain.orgs.privacy.redaction import redact_text
from gateway.__main__ import GRACE_S
from gateway.http.readiness import ANSWER_WITHIN_S
from settings import FILE, Settings
from storage.postgres.database import Database
from tests.deployment import (
    ALL_FILES,
    COMPOSE,
    DEPLOY,
    EXAMPLE,
    SYSTEMD,
    VARIABLE,
    WAYS,
    objects,
    processes,
    read_yaml,
    services,
)
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_org
from tests.house.reading import ROOMS, ROOT, SINGLE_FILES

QUEUES = {queue.value for queue in Queue}
SETTINGS = {f"POSTROOM_{name.upper()}" for name in Settings.model_fields}
IN_FILES = {f"{name}{FILE}" for name in SETTINGS}
FLOWER_PASSWORD = "FLOWER_BASIC_AUTH"
NEVER_IN_A_FILE = {
    f"POSTROOM_{name.upper()}" for name, field in Settings.model_fields.items() if isinstance(field.default, SecretStr)
} | {
    "POSTROOM_LEDGER_DATABASE_URL",
    "POSTROOM_TENANT_DATABASE_URL",
    "POSTROOM_AUDITOR_DATABASE_URL",
    "POSTROOM_WATCH_DATABASE_URL",
    "POSTGRES_PASSWORD",
    FLOWER_PASSWORD,
}
MAY_BE_CHOSEN = {
    "POSTROOM_PUBLIC_URL",
    "POSTROOM_ANTHROPIC_API_KEY",
    "POSTROOM_GOOGLE_CLIENT_ID",
    "POSTROOM_GOOGLE_CLIENT_SECRET",
    "POSTROOM_PUBSUB_TOPIC",
    "POSTROOM_PUBSUB_AUDIENCE",
    "POSTROOM_PUBSUB_SERVICE_ACCOUNT",
    "POSTROOM_DISCORD_BOT_TOKEN",
    "POSTROOM_DISCORD_PUBLIC_KEY",
    "POSTROOM_ALERT_URL",
}
"""Without them a part of the product is off: no mailbox, no model, no approval on Discord, no alert."""
TAKEN_FROM_OUTSIDE = re.compile(r"\$\{[A-Z_]+:\?\}")
OWNER = "POSTROOM_DATABASE_URL"
OWNERS = ("owner_url", "owner_password")
LEDGER = "POSTROOM_LEDGER_DATABASE_URL"
"""The login from which those of the other roles follow."""
MUST_BE_CHOSEN = {
    LEDGER,
    "POSTROOM_SEALING_KEYS",
    "POSTROOM_BROKER_URL",
}


def assignments(text: str) -> list[tuple[str, str]]:
    """Every `NAME=value` and `NAME: value` of a file."""
    found = re.findall(r"^\s*(?:Environment=)?([A-Z][A-Z_]+)\s*[=:][ \t]*(.*?)\s*$", text, re.MULTILINE)
    return [(name, value.strip("\"'")) for name, value in found]


def kept_in_a_file(name: str, value: str) -> str:
    """What remains of a value without what comes from outside; nothing of an address without a password."""
    outside = TAKEN_FROM_OUTSIDE.sub("", value)
    return "" if re.fullmatch(r"\w+://(\w+:@)?[\w.]+:\d+/\w*", outside) and name.endswith("_URL") else outside


@pytest.mark.parametrize("way", WAYS)
def test_every_queue_has_a_worker(way: str) -> None:
    consumed = [queue for process in processes(way) for queue in process.queues]
    assert set(consumed) == QUEUES, f"{way} lacks workers for {sorted(QUEUES - set(consumed))}"
    assert len(consumed) == len(QUEUES), f"{way} has two services for one queue"


@pytest.mark.parametrize("way", WAYS)
def test_jobs_that_compute_have_processes_and_all_others_threads(way: str) -> None:
    children = {queue for process in processes(way) if process.is_prefork for queue in process.queues}
    assert children == {"planning", "exports"}


@pytest.mark.parametrize("way", WAYS)
def test_the_other_processes_are_there(way: str) -> None:
    started = processes(way)
    assert sum(process.copies for process in started if process.starts("-A", "tasks", "beat")) == 2
    assert any(process.starts("-m", "gateway") for process in started)
    assert any(process.starts("-A", "tasks", "flower") for process in started)
    assert sum(process.starts("-A", "tasks", "database", "migrate") for process in started) == 1


@pytest.mark.parametrize("path", ALL_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_setting_exists(path: Path) -> None:
    named = set(VARIABLE.findall(path.read_text()))
    known = SETTINGS | IN_FILES | {FLOWER_PASSWORD}
    assert named <= known, f"unknown: {sorted(named - known)}"


@pytest.mark.parametrize("path", ALL_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_keeps_a_secret(path: Path) -> None:
    text = path.read_text()
    kept = [name for name, value in assignments(text) if name in NEVER_IN_A_FILE and kept_in_a_file(name, value)]
    assert kept == []
    plain = TAKEN_FROM_OUTSIDE.sub("", text)
    assert redact_text(plain) == plain


def test_no_variable_stands_twice_in_an_environment() -> None:
    for path in (EXAMPLE, *SYSTEMD):
        names = [name for name, _ in assignments(path.read_text()) if VARIABLE.fullmatch(name)]
        assert len(names) == len(set(names)), path.name


def test_a_doubled_key_would_be_found() -> None:
    with pytest.raises(yaml.MarkedYAMLError, match="A stands twice"):
        read_yaml("x: {A: 1, B: 2}\ny:\n  A: 1\n  B: 2\n  A: 3\n")
    assert read_yaml("x: &x {A: 1}\ny:\n  <<: *x\n  A: 2\n") == [{"x": {"A": 1}, "y": {"A": 2}}]


def test_a_kept_secret_would_be_found() -> None:
    assert assignments("  POSTROOM_SEALING_KEYS: hunter2\nPOSTROOM_BROKER_URL=redis://u:pw@host:6379/0") == [
        ("POSTROOM_SEALING_KEYS", "hunter2"),
        ("POSTROOM_BROKER_URL", "redis://u:pw@host:6379/0"),
    ]
    assert kept_in_a_file("POSTROOM_SEALING_KEYS", "hunter2") == "hunter2"
    assert kept_in_a_file("POSTROOM_BROKER_URL", "redis://u:pw@host:6379/0")
    assert kept_in_a_file("POSTROOM_BROKER_URL", "redis://valkey:6379/0") == ""
    assert kept_in_a_file("POSTROOM_DATABASE_URL", "postgresql://postroom:${POSTGRES_PASSWORD:?}@postgres:5432/x") == ""


def test_the_example_names_what_must_and_what_may_be_chosen() -> None:
    assert {name for name, _ in assignments(EXAMPLE.read_text())} >= MUST_BE_CHOSEN | MAY_BE_CHOSEN


def given_to(service: dict[str, Any]) -> set[str]:
    """The settings that a service of ours has, by their values or by files."""
    return {name.removesuffix(FILE) for name in service["environment"]}


def test_compose_gives_every_process_what_must_be_chosen_and_vendors_keys_to_those_who_call_them() -> None:
    ours = {name: one for name, one in services().items() if one["image"] == "postroom"}
    assert len(ours) == len(QUEUES) + 5
    for name, service in ours.items():
        assert given_to(service) >= MUST_BE_CHOSEN, name
        assert bool(given_to(service) & MAY_BE_CHOSEN) == (name not in {"migrate", "flower"}), name
        assert name in {"migrate", "flower"} or given_to(service) >= MAY_BE_CHOSEN, name
        waits = "postgres" if name == "migrate" else "migrate"
        assert waits in service["depends_on"], name
    taken = {name for one in ours.values() for name, value in one["environment"].items() if value is None}
    assert taken <= {name for name, _ in assignments(EXAMPLE.read_text())}, "example.env lacks what compose asks for"


def test_compose_gives_each_process_the_secrets_that_it_names_and_makes_all_of_them(tmp_path: Path) -> None:
    subprocess.run([DEPLOY / "make-secrets", tmp_path], check=True)  # noqa: S603  # our own script
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    document = read_yaml(COMPOSE.read_text())[0]
    assert {name: one["file"] for name, one in document["secrets"].items()} == {
        name: f"secrets/{name}" for name in made
    }
    for name, service in services().items():
        text = f"{service.get('environment', {})} {service.get('command', '')}"
        assert set(re.findall(r"/run/secrets/(\w+)", text)) == set(service.get("secrets", [])), name
    subprocess.run([DEPLOY / "make-secrets", tmp_path], check=True)  # noqa: S603  # our own script
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == made, "what is there stays"


def test_only_the_migration_knows_the_owner_in_kubernetes() -> None:
    workloads = objects("Deployment") | objects("Job")
    for name, one in workloads.items():
        container = one["spec"]["template"]["spec"]["containers"][0]
        taken = {each["valueFrom"]["secretKeyRef"]["name"] for each in container.get("env", []) if "valueFrom" in each}
        taken |= {source.get("secretRef", {}).get("name") for source in container["envFrom"]}
        assert ("postroom-owner" in taken) == (name == "postroom-migration"), name
    given: set[str] = set(objects("ConfigMap")["postroom"]["data"]) | set(objects("Secret")["postroom"]["stringData"])
    assert given >= MUST_BE_CHOSEN | MAY_BE_CHOSEN


def test_only_the_migration_knows_the_owner_in_compose() -> None:
    knows = {
        secret: {name for name, one in services().items() if secret in one.get("secrets", [])} for secret in OWNERS
    }
    assert knows == {"owner_url": {"migrate"}, "owner_password": {"postgres"}}
    for name, service in services().items():
        assert (f"{OWNER}{FILE}" in service.get("environment", {})) == (name == "migrate"), name
        assert OWNER not in service.get("environment", {}), name


def test_only_the_migration_knows_the_owner_on_systemd() -> None:
    assert OWNER not in dict(assignments(EXAMPLE.read_text())), "every process reads that file"
    for unit in SYSTEMD:
        # An optional file, with a dash, is the process's own, such as its port for metrics.
        files = re.findall(r"^EnvironmentFile=([^-].*)$", unit.read_text(), re.MULTILINE)
        owner = ["/etc/postroom/owner"] if unit.name == "postroom-migrate.service" else []
        assert files == ([] if unit.suffix == ".target" else ["/etc/postroom/environment", *owner]), unit.name
        assert OWNER not in dict(assignments(unit.read_text())), unit.name


def test_a_migration_on_systemd_holds_nothing_up_and_takes_nothing_down() -> None:
    for unit in SYSTEMD:
        lines = re.findall(r"^(\w+)=(.*\bpostroom-migrate\b.*)$", unit.read_text(), re.MULTILINE)
        found = {name for name, _ in lines}
        # What is restarted takes along whatever has it in Requires=, BindsTo= or PartOf=, and what has it in After= is
        # not started anew while it runs (systemd.unit(5)): a worker that crashed would wait for a long migration.
        assert found == ({"Wants"} if unit.suffix == ".target" else set()), unit.name


def test_what_makes_the_gateway_ready_is_said_before_the_probes_give_up() -> None:
    pods = objects("Deployment")["postroom-gateway"]["spec"]["template"]["spec"]["containers"]
    health = services()["gateway"]["healthcheck"]
    asked = re.search(r"/readyz', timeout=(\d+)", " ".join(health["test"]))
    assert asked is not None
    patience = [pods[0]["readinessProbe"]["timeoutSeconds"], int(asked[1]), int(health["timeout"].removesuffix("s"))]
    assert all(seconds > ANSWER_WITHIN_S for seconds in patience), patience


@pytest.mark.parametrize("way", WAYS)
def test_the_gateway_may_end_its_requests_before_it_is_killed(way: str) -> None:
    periods = [process.stop_period_s for process in processes(way) if process.starts("-m", "gateway")]
    assert min(periods) > GRACE_S, periods


def test_flower_does_not_start_without_a_password() -> None:
    container = objects("Deployment")["postroom-flower"]["spec"]["template"]["spec"]["containers"][0]
    assert container["env"][0]["name"] == FLOWER_PASSWORD
    assert "optional" not in container["env"][0]["valueFrom"]["secretKeyRef"]
    assert f"test -n ${{{FLOWER_PASSWORD}}}" in (DEPLOY / "systemd" / "postroom-flower.service").read_text()
    assert "test -s /run/secrets/flower_auth;" in services()["flower"]["command"][2]


def test_nothing_runs_as_root() -> None:
    for one in (*objects("Deployment").values(), *objects("Job").values()):
        assert one["spec"]["template"]["spec"]["securityContext"]["runAsNonRoot"] is True
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert users == ["10001"]
    assert any("--require-hashes" in line for line in lines)


def test_the_allocator_is_set_alike_wherever_mail_is_taken_in() -> None:
    places = [DEPLOY / "Dockerfile", DEPLOY / "systemd" / "postroom-worker@.service", ROOT / "Makefile"]
    found = [set(re.findall(r"\bMALLOC_\w+=\d+", path.read_text())) for path in places]
    assert found == [{"MALLOC_MMAP_THRESHOLD_=131072", "MALLOC_TRIM_THRESHOLD_=131072"}] * len(places)


def test_images_are_named_by_the_version_of_the_project_file() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    version_of = re.compile(r"(?:\bpostroom:|\bnewTag: )(\d[\w.]*\w)")
    named = {found for path in ALL_FILES for found in version_of.findall(path.read_text())}
    assert named == {version}


def test_what_the_image_is_made_of_is_there() -> None:
    copied = re.findall(r"^COPY (?!--from=)(.+) \S+$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    missing = [name for line in copied for name in line.split() if not (ROOT / name).exists()]
    assert missing == []


def test_every_scaled_worker_exists_and_every_worker_is_scaled() -> None:
    targets = {one["spec"]["scaleTargetRef"]["name"] for one in objects("ScaledObject").values()}
    assert targets == {f"postroom-worker-{queue}" for queue in QUEUES} <= set(objects("Deployment"))
    assert all(one["spec"]["minReplicaCount"] >= 1 for one in objects("ScaledObject").values())


def test_the_scalers_count_what_is_due_and_nothing_else(database: Connection, store: Database) -> None:
    org = make_org(database)
    for queue in QUEUES:
        make_job_type(store, f"probe.{queue}", queue=queue)
        enqueue_one(store, org, f"probe.{queue}")
        enqueue_one(store, org, f"probe.{queue}", run_at=datetime.now(UTC) + timedelta(hours=1))
        claim_one(store, enqueue_one(store, org, f"probe.{queue}"))
    with store.ledger() as tx:
        counted = {name: tx.raw(query_of(one))[0][0] for name, one in objects("ScaledObject").items()}
    assert counted == {f"postroom-worker-{queue}": 1 for queue in QUEUES}


def query_of(scaled: dict[str, Any]) -> str:
    trigger = scaled["spec"]["triggers"][0]
    assert trigger["type"] == "postgresql"
    return str(trigger["metadata"]["query"])


SHIPPED = set(ROOMS) - {"sandbox", "bench", "clients", "examples", "tools", "tests"}
"""The rooms that production runs; the others are for developers, and for the services that call it."""


def test_the_image_holds_every_room_that_production_runs() -> None:
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text()
    copied = re.findall(r"^COPY (\w+) \./(\w+)$", dockerfile, re.MULTILINE)
    assert {source for source, _ in copied} == {target for _, target in copied} == SHIPPED
    assert all(f"{name}.py" in dockerfile for name in SINGLE_FILES)


def test_the_project_file_packages_every_room_that_production_runs() -> None:
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    packaged = {pattern.removesuffix("*") for pattern in setuptools["packages"]["find"]["include"]}
    assert packaged == SHIPPED
    assert set(setuptools["py-modules"]) == set(SINGLE_FILES)


def test_the_package_holds_every_file_that_the_code_reads() -> None:
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    kept = {path for room, globs in patterns.items() for one in globs for path in (ROOT / room).glob(one)}
    assert set((ROOT / "storage").rglob("*.sql")) - kept == set()


@pytest.mark.parametrize("way", WAYS)
def test_every_worker_that_ends_is_started_anew_and_has_time_to_stop(way: str) -> None:
    workers = [process for process in processes(way) if process.queues]
    assert workers
    longest = Settings().shutdown_grace_s + STOP_MARGIN_S
    for worker in workers:
        assert worker.restarts, worker
        assert worker.stop_period_s > longest, f"{worker}: a worker may take {longest:g} s to stop"

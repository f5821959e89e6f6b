"""Who may import whom: the tables at the top are the picture of the house (docs/explanation/the-house.md)."""

import ast
from collections.abc import Callable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.house.reading import IMPORTS, ROOMS, ROOT, SINGLE_FILES, Module, belongs, dotted, read_house

OURS = {*ROOMS, *SINGLE_FILES}
EVERYBODY = frozenset(OURS)

ENGINE_MAY = {
    "domain.payloads",
    "domain.jobs",
    "domain.clean_text",
    "domain.diagnosis",
    "domain.orgs.privacy.redaction",
    "domain.orgs.privacy.secrets",
    "storage.postgres",
    "storage.jobs",
    "storage.models.money",
    "storage.orgs.secrets",
    "providers.ports",
    "providers.sliding_windows",
    "observability",
    "settings",
    "celeryconfig",
    "beat_schedule",
}
"""How jobs run knows no mail, no job family and no vendor."""
FAMILIES_MAY = {"domain", "storage", "providers", "observability", "engine", "settings"}
MAY_IMPORT = {  # the first line whose name fits a module counts; its own room is always allowed
    "domain": set(),
    "settings": {"domain.jobs.urls", "domain.planning.files.artifact_urls"},
    "storage": {"domain", "settings"},
    "observability": {"domain", "settings"},
    "providers": {"domain", "settings", "observability"},
    "beat_schedule": {"domain.jobs.queues"},
    "celeryconfig": {"domain.jobs.queues", "beat_schedule", "settings"},
    "engine": ENGINE_MAY,
    "tasks.jobs": FAMILIES_MAY | {"operations.jobs"},  # a bulk action does the deeds on single jobs
    "tasks": FAMILIES_MAY,
    "commands": FAMILIES_MAY | {"operations", "tasks", "celeryconfig", "beat_schedule"},
    "operations": {"domain", "storage", "settings"},
    "gateway": {"domain", "storage", "operations", "providers", "observability", "settings"},
    "sandbox.demo": {"settings", "storage"},
    "sandbox.up": {"settings", "storage"},
    "sandbox": set(),
    "bench": EVERYBODY - {"tools"},
    "clients": set(),  # what services install knows nothing of the fleet
    "tools": EVERYBODY,
    "examples": {"domain", "engine", "storage.postgres.database"},  # what a package with job types of its own builds on
    "tests": EVERYBODY,
}

CELERY = {"engine", "tasks", "commands", "celeryconfig", "beat_schedule", "bench", "clients", "examples", "tests"}
SQL = {"storage", "sandbox", "bench", "clients", "examples", "tests"}
WIRE = {"providers", "sandbox", "bench", "clients", "examples", "tests"}
HTTP_SERVER = {"gateway", "sandbox", "bench", "examples", "tests"}
OBSERVING = {"observability", "tests"}
SOLVER = {"providers.highs", "tests"}
PRINTER = {"providers.typst", "tests"}
TESTED_AGAINST = {"tests"}
ONLY_IN = {  # third parties that belong to some rooms only
    **dict.fromkeys(("celery", "kombu", "billiard", "flower"), CELERY),
    **dict.fromkeys(("sqlalchemy", "psycopg", "psycopg_pool", "alembic"), SQL),
    **dict.fromkeys(("anthropic", "google", "googleapiclient", "google_auth_httplib2", "httplib2"), WIRE),
    **dict.fromkeys(("httpx", "httpx2", "requests", "urllib3", "aiohttp", "urllib.request", "http.client"), WIRE),
    **dict.fromkeys(("msal", "resend", "twilio", "smtplib", "obstore"), WIRE),
    "limits": {"providers", "bench", "tests"},
    **dict.fromkeys(("fastapi", "starlette", "uvicorn"), HTTP_SERVER),
    **dict.fromkeys(("prometheus_client", "opentelemetry"), OBSERVING),
    **dict.fromkeys(("highspy", "numpy"), SOLVER),  # packages of the extras: only in modules that are loaded on demand
    **dict.fromkeys(("icalendar", "recurring_ical_events", "dateutil"), TESTED_AGAINST),
    "typst": PRINTER,
    "jsonpatch": {"tests"},
    "pypdfium2": {"tools", "tests"},
}
READS_ENVIRONMENT = {"settings", "sandbox", "bench", "examples", "tests"}
MAKE_JOBS = {
    "domain.payloads.payload",  # the one place where a payload becomes a job
    "domain.jobs.job",  # a child: the same job with its parent's org and origin
    "domain.jobs.contract",  # what a foreign service hands over
    "storage.jobs.schedules.schedules",  # a schedule's own payload, at each of its times
    "domain.jobs.job_request",  # what a client of the API asks for
    "tasks.workflows.steps.work",  # what a definition gives the job of a node, of any type
    "operations.jobs.replays",  # the own payload of a dead letter or of an ended job once more
    "bench",  # measures the ledger's verbs by themselves
    "tests",
}
NOT_IN_DOMAIN = ("asyncio", "logging", "os", "random", "secrets", "socket", "subprocess", "threading", "time")
CLOCKS_AND_CHANCE = ("now", "utcnow", "today", "uuid4", "uuid1")

House = Sequence[Module]


@pytest.fixture(scope="module")
def house() -> House:
    return read_house()


def crossed_rooms(module: Module) -> Iterator[str]:
    allowed = next((rooms for name, rooms in MAY_IMPORT.items() if belongs(module.name, [name])), set())
    for found in module.imports():
        inside = found.target.partition(".")[0]
        if inside in OURS and not belongs(found.target, {module.room, *allowed}):
            yield (
                f"{module.at(found)} imports {found.target}, but {module.room} may import only"
                f" {', '.join(sorted(allowed)) or 'nobody'}: move the code down a floor, or take it as an argument"
            )


def foreign_imports(module: Module) -> Iterator[str]:
    for found in module.imports():
        for third_party, rooms in ONLY_IN.items():
            if belongs(found.target, [third_party]) and not belongs(module.name, rooms):
                yield (
                    f"{module.at(found)} imports {found.target}, which belongs in {', '.join(sorted(rooms))}:"
                    f" ask that room for what you need in our own words"
                )


def readers_of_the_environment(module: Module) -> Iterator[str]:
    names = {"os.environ", "os.environb", "os.getenv", "os.putenv"}
    used = [(node, dotted(node)) for node in module.nodes() if isinstance(node, ast.Attribute)]
    places = [module.at(node) for node, name in used if name in names]
    places += [module.at(found) for found in module.imports() if found.target in names]
    if not belongs(module.name, READS_ENVIRONMENT):
        yield from (
            f"{place} reads the environment: make it a field of settings.py, and take settings" for place in places
        )


def log_setups(module: Module) -> Iterator[str]:
    for node in module.nodes():
        if isinstance(node, ast.Call) and is_log_setup(node) and not belongs(module.name, OBSERVING):
            yield f"{module.at(node)} sets up logging: that is observability's"


def is_log_setup(call: ast.Call) -> bool:
    return dotted(call.func) == "structlog.configure"


def family_of(name: str) -> str | None:
    """The family in whose file a name of `tasks` is: a file of a system's folder; None for a shared step."""
    parts = name.split(".")[:3]
    is_family = len(parts) == 3 and (ROOT / f"{'/'.join(parts)}.py").exists()
    return ".".join(parts) if is_family else None


def families_that_know_families(module: Module) -> Iterator[str]:
    if module.room != "tasks" or module.name == "tasks.__init__":
        return
    for found in module.imports():
        if belongs(found.target, ["tasks"]) and family_of(found.target) not in {None, module.name}:
            yield (
                f"{module.at(found)} imports {found.target}: a family imports no family; name the payload class of the"
                " job in domain.payloads, and put a step that several share into a folder of their system"
            )


def families_that_reach_past_their_context(module: Module) -> Iterator[str]:
    if module.room != "tasks":
        return
    for found in module.imports():
        if belongs(found.target, ["engine.runtime"]):
            yield f"{module.at(found)} imports {found.target}: a handler uses what `ctx` gives it"


def entry_points_that_audit(module: Module) -> Iterator[str]:
    """What people and services do is audited by the operation that does it, whichever entry point they use."""
    for found in module.imports() if module.room in {"commands", "gateway"} else ():
        if belongs(found.target, ["storage.jobs.audit_log.deeds"]):
            yield f"{module.at(found)} imports {found.target}: declare the deed in operations/, which audits it"


def payloads_that_know_more_than_jobs(module: Module) -> Iterator[str]:
    for found in module.imports() if belongs(module.name, ["domain.payloads"]) else ():
        if belongs(found.target, OURS) and not belongs(found.target, ["domain.jobs", "domain.payloads"]):
            yield f"{module.at(found)} imports {found.target}: payload classes stand on domain.jobs alone"


def hand_made_jobs(module: Module) -> Iterator[str]:
    if belongs(module.name, MAKE_JOBS):
        return
    for node in module.nodes():
        if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] == "NewJob":
            yield f"{module.at(node)} writes a job's payload by hand: take its payload class and call job(org_id=…)"


def hidden_imports(module: Module) -> Iterator[str]:
    if all(node in module.tree.body for node in module.nodes() if isinstance(node, IMPORTS)):
        return
    for function in module.functions():
        for node in ast.walk(function):
            if isinstance(node, IMPORTS):
                yield f"{module.at(node)} imports inside {function.name}: move it to the top, break the circle it hides"


def impurities_of_the_domain(module: Module) -> Iterator[str]:
    if module.room != "domain":
        return
    for found in module.imports():
        if belongs(found.target, NOT_IN_DOMAIN):
            yield f"{module.at(found)} imports {found.target}: the domain has no I/O, clock or chance; take the value"
    for node in module.nodes():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CLOCKS_AND_CHANCE:
            yield f"{module.at(node)} calls {node.func.attr}(): time and chance are arguments in the domain"


def circle(house: House) -> list[str]:
    """The modules of one import circle, the first again at its end; empty when there is none."""
    names = {module.name.removesuffix(".__init__"): module for module in house}
    graph = {
        name: {known for found in module.imports() if (known := longest_known(found.target, names)) and known != name}
        for name, module in names.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def longest_known(target: str, names: dict[str, Module]) -> str:
    """The module that `from a.b import c` runs: `a.b.c` if there is one, else `a.b`, else none of ours."""
    while target and target not in names:
        target = target.rpartition(".")[0]
    return target


CHECKS = (
    crossed_rooms,
    foreign_imports,
    readers_of_the_environment,
    log_setups,
    families_that_know_families,
    families_that_reach_past_their_context,
    entry_points_that_audit,
    payloads_that_know_more_than_jobs,
    hand_made_jobs,
    hidden_imports,
    impurities_of_the_domain,
)
Check = Callable[[Module], Iterator[str]]


@pytest.mark.parametrize("check", CHECKS)
def test_the_house_keeps_its_rooms(house: House, check: Check) -> None:
    complaints = [complaint for module in house for complaint in check(module)]
    assert not complaints, "\n" + "\n".join(complaints)


def test_no_import_circles(house: House) -> None:
    found = circle(house)
    assert not found, f"{' -> '.join(found)}: move what both need into a module below them"


def test_the_house_has_no_room_that_the_table_forgets(house: House) -> None:
    assert {module.room for module in house} <= {name.partition(".")[0] for name in MAY_IMPORT}
    assert {"domain", "settings", "sandbox", "tests"} <= {module.room for module in house}


@pytest.mark.parametrize(
    ("check", "name", "source", "words"),
    [
        (crossed_rooms, "domain.jobs.retry", "import storage.jobs.ledger", "domain may import only nobody"),
        (crossed_rooms, "storage.jobs.ledger", "from tasks import app", "storage may import only domain, settings"),
        (crossed_rooms, "beat_schedule", "from domain.jobs import job", "imports domain.jobs.job"),
        (crossed_rooms, "gateway.webhooks", "from tasks.mail.gmail import sync", "gateway may import only"),
        (
            crossed_rooms,
            "sandbox.google.mailbox.drafts",
            "from domain.mail import mailbox",
            "sandbox may import only nobody",
        ),
        (foreign_imports, "domain.jobs.retry", "from celery import Task", "imports celery.Task"),
        (foreign_imports, "gateway.app", "from kombu import Producer", "imports kombu.Producer"),
        (
            foreign_imports,
            "tasks.mail.gmail",
            "import psycopg",
            "belongs in bench, clients, examples, sandbox, storage, tests",
        ),
        (foreign_imports, "gateway.oauth", "import httpx2", "imports httpx2"),
        (foreign_imports, "tasks.mail.gmail", "from urllib.request import urlopen", "imports urllib.request"),
        (
            readers_of_the_environment,
            "engine.app",
            "import os\nos.environ['A']",
            "engine/app.py:2 reads the environment",
        ),
        (readers_of_the_environment, "engine.app", "from os import getenv", "reads the environment"),
        (log_setups, "engine.app", "structlog.configure()", "sets up logging"),
        (
            families_that_know_families,
            "tasks.mail.gmail",
            "from tasks.mail import triage",
            "a family imports no family",
        ),
        (
            families_that_know_families,
            "tasks.mail.steps.labels",
            "from tasks.mail.gmail import sync",
            "imports tasks.mail.gmail.sync",
        ),
        (
            families_that_know_families,
            "tasks.notifications.senders.x",
            "from tasks.notifications.email import send",
            "imports tasks.notifications.email.send",
        ),
        (
            families_that_reach_past_their_context,
            "tasks.mail.steps.labels",
            "from engine.runtime import runtime",
            "a handler uses what `ctx` gives it",
        ),
        (entry_points_that_audit, "gateway.api.jobs", "from storage.jobs.audit_log import deeds", "declare the deed"),
        (entry_points_that_audit, "commands.keys", "import storage.jobs.audit_log.deeds", "declare the deed"),
        (payloads_that_know_more_than_jobs, "domain.payloads.gmail", "from domain.mail import rules", "domain.mail"),
        (hand_made_jobs, "gateway.webhooks", "NewJob('gmail.sync', org, {})", "gateway/webhooks.py:1 writes a job's"),
        (hidden_imports, "tests.test_x", "def f():\n    import json", "tests/test_x.py:2 imports inside f"),
        (hidden_imports, "engine.app", "async def f():\n    if 1:\n        from a import b", "imports inside f"),
        (crossed_rooms, "engine.app", "from postroom_client import sql", "imports clients.python.postroom_client.sql"),
        (crossed_rooms, "clients.python.postroom_client.sql", "import settings", "clients may import only nobody"),
        (impurities_of_the_domain, "domain.jobs.retry", "import random", "imports random"),
        (impurities_of_the_domain, "domain.jobs.retry", "datetime.now(UTC)", "calls now()"),
    ],
)
def test_each_check_can_fail(check: Check, name: str, source: str, words: str) -> None:
    complaints = list(check(Module(name, source)))
    assert len(complaints) == 1
    assert words in complaints[0]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("domain.jobs.retry", "from domain.mail import mailbox\nfrom datetime import timedelta"),
        ("beat_schedule", "from domain.jobs.queues import Queue"),
        ("sandbox.demo.report", "import settings\nfrom storage import ledger"),
        ("engine.app", "from celery import Celery\nimport celeryconfig"),
        ("settings", "import os\nos.environ"),
    ],
)
def test_what_is_allowed_passes(name: str, source: str) -> None:
    assert [complaint for check in CHECKS for complaint in check(Module(name, source))] == []


def test_a_circle_is_found_and_named() -> None:
    around = [
        Module("storage.a", "from storage.b import x"),
        Module("storage.b", "import storage.c"),
        Module("storage.c", "from storage import a"),
    ]
    assert set(circle(around)) == {"storage.a", "storage.b", "storage.c"}
    assert circle(around[:2]) == []

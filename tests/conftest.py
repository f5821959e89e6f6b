"""Fixtures of the whole suite: the session's servers, and a database and a broker of its own for each test."""

import gc
import secrets
import tempfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import redis
import structlog
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from kombu import pools
from kombu.resource import Resource
from psycopg import Connection
from pydantic import SecretStr

import tasks  # noqa: F401 - fills the catalogue
from engine.runtime import Runtime, install
from engine.worker.lease import renew
from sandbox.servers.postgres_server import PostgresServer
from sandbox.servers.valkey_server import ValkeyServer
from settings import Settings, load
from storage.postgres.database import Database
from storage.postgres.store_mark import mark_store
from tests.doubles.factories import make_org
from tests.doubles.mail_environment import MailEnvironment, running_environment
from tests.doubles.told_people import ToldPeople, told_people
from tests.servers.kept_database import KeptDatabase
from tests.servers.kept_sessions import keep_sessions, owner_session
from tests.servers.published import COPIED, publish_once, published_template
from tests.servers.python_processes import PreparedPython
from tests.servers.quiet_room import room
from tests.servers.scheduling import LongFirst, leaves_out, rank
from tests.servers.servers import (
    TEMPLATE,
    SessionServers,
    as_plain,
    broker_number,
    end_administration,
    run_session_servers,
    temporary_database,
)
from tests.servers.session_folder import session_folder
from tests.servers.shared_imports import import_share

# Nothing here may depend on how busy the machine is, and Hypothesis measures how fast it makes its inputs.
hypothesis_settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("suite")

SERVERS_FOR_WORKERS = pytest.StashKey[ExitStack]()
HANDED_OVER = "postroom_servers"
PROCESSES = frozenset({"env", "process", "told"})
"""The fixtures that publish the catalogue."""


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:  # noqa: ANN401  # xdist ships no types
    """In xdist's controller: start the servers before the first worker, and tell each worker where they are."""
    stash = node.config.stash
    if SERVERS_FOR_WORKERS not in stash:
        stash[SERVERS_FOR_WORKERS] = ExitStack()
        node.config.add_cleanup(stash[SERVERS_FOR_WORKERS].close)
        node.config.postroom_servers = stash[SERVERS_FOR_WORKERS].enter_context(run_session_servers(with_python=True))
    node.workerinput[HANDED_OVER] = as_plain(node.config.postroom_servers)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LongFirst | None:  # noqa: ANN401  # xdist ships no types
    """With `--dist loadscope`: in our order, and with our units."""
    return LongFirst(config, log) if config.getoption("dist") == "loadscope" else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """With xdist: let a quiet test run alone."""
    if not hasattr(item.config, "workerinput"):
        return (yield)
    with room(Path(item.config.option.basetemp).parent, alone=item.get_closest_marker("quiet") is not None):
        return (yield)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put long tests first."""
    items.sort(key=lambda item: rank(item.nodeid.partition("::")[0]))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `--length`, import only the files of such tests."""
    place = collection_path.relative_to(config.rootpath).as_posix()
    return (collection_path.is_file() and leaves_out(config.option.length, place)) or None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run take the short or the long tests alone, and some tests try more than in the suite."""
    parser.addoption("--length", choices=["short", "long", "gate"], help="take only such tests")
    parser.addoption(
        "--model-examples",
        type=int,
        help="random runs of the ledger's model test, instead of the suite's few fixed ones",
    )
    parser.addoption("--mutants", type=int, default=1_200, help="mutants of mail that are read")
    parser.addoption("--write-trips", action="store_true", help="write anew how many trips jobs take to PostgreSQL")
    parser.addoption(
        "--fuzz-seed", type=int, help="what the fuzzers of messages begin with; by default a random number"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Draw the seed of the fuzzers once, for all of xdist's workers; learn where the prepared Python listens."""
    if config.option.basetemp is None:
        _take_own_folder(config)
    if config.option.fuzz_seed is None:
        config.option.fuzz_seed = secrets.randbelow(2**32)
    keep_sessions()
    PreparedPython.address = getattr(config, "workerinput", {}).get(HANDED_OVER, {}).get("python_address", "")
    # Where `rich` is installed, structlog draws each traceback with sources and variables: up to seconds of CPU each.
    plain = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[*structlog.get_config()["processors"][:-1], plain])


def _take_own_folder(config: pytest.Config) -> None:
    """Keep the tests' files apart from those of other sessions of this user.

    In pytest's own folder each session closes the way to the files of all, and a PostgreSQL that root started runs as
    another user.
    """
    stack = ExitStack()
    config.add_cleanup(stack.close)
    config.option.basetemp = stack.enter_context(session_folder(Path(tempfile.gettempdir()))) / "tests"


def pytest_report_header(config: pytest.Config) -> str:
    """Say the seed, so that a run can be repeated."""
    return f"fuzz seed: {config.option.fuzz_seed} (--fuzz-seed)"


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Let no collection of garbage look through what only grows; with xdist, import a share of the files first."""
    given = getattr(session.config, "workerinput", None)
    gc.disable()
    try:
        if given is not None:
            import_share(session.config, int(given["workerid"].removeprefix("gw")), given["workercount"])
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Spare the garbage collector what lives as long as the session, the modules and the tests: a tenth of its time.

    It looks more rarely at what is left: sampled by perf, it took a twelfth of Python's CPU in tests.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session")
def servers(request: pytest.FixtureRequest) -> Iterator[SessionServers]:
    """The session's PostgreSQL and Valkey; started by the first test that asks, unless xdist's controller did."""
    given = getattr(request.config, "workerinput", {}).get(HANDED_OVER)
    if given is not None:
        yield SessionServers(**given)
        end_administration()
        return
    with run_session_servers() as started:
        yield started


@pytest.fixture(scope="session")
def published(servers: SessionServers) -> Iterator[str]:
    """The name of a template in which the catalogue is published."""
    with published_template(servers) as name:
        yield name


@pytest.fixture(scope="session")
def kept_databases(servers: SessionServers, published: str) -> Iterator[Mapping[str, KeptDatabase]]:
    """By their templates, the databases that serve one test after another."""
    with ExitStack() as stack:
        kinds = {TEMPLATE: "plain", published: COPIED}
        databases = {template: KeptDatabase(servers, template, kind) for template, kind in kinds.items()}
        for one in databases.values():
            stack.callback(one.close)
        yield databases


@pytest.fixture
def database_url(
    kept_databases: Mapping[str, KeptDatabase], published: str, request: pytest.FixtureRequest
) -> Iterator[str]:
    """The owner's URL of a migrated database that belongs to this test alone, in its first state.

    Where a process of the fleet is asked for, too, the catalogue is published in it.
    """
    template = published if PROCESSES & set(request.fixturenames) else TEMPLATE
    with kept_databases[template].lend() as url:
        yield url


@pytest.fixture
def fresh_database_url(servers: SessionServers) -> Iterator[str]:
    """The same of a new database, whose sessions are new, too: for tests of how sessions begin, and what ends them.

    A folder or a file of such tests has it as its `database_url`.
    """
    with temporary_database(servers, template=TEMPLATE) as url:
        yield url


@pytest.fixture
def empty_database_url(servers: SessionServers) -> Iterator[str]:
    """The owner's URL of a database without a single table, for tests of the migrations themselves."""
    with temporary_database(servers, template="template0") as url:
        yield url


@pytest.fixture
def database(database_url: str) -> Iterator[Connection]:
    """An autocommitting connection of the owner to this test's database, to look at what the code under test did."""
    with owner_session(database_url) as connection:
        yield connection


@pytest.fixture(scope="session")
def own_broker(servers: SessionServers, worker_id: str) -> Iterator[tuple[str, redis.Redis]]:
    """The URL of the broker that belongs to this process, and a client of it."""
    url = servers.broker_url(broker_number(int(worker_id.removeprefix("gw")) if worker_id != "master" else 0))
    with redis.Redis.from_url(url) as client:
        yield url, client


@pytest.fixture
def broker_url(own_broker: tuple[str, redis.Redis]) -> str:
    """The URL of an empty broker that no other test uses meanwhile."""
    url, client = own_broker
    client.flushdb()
    return url


@pytest.fixture
def own_postgres(tmp_path: Path) -> Iterator[PostgresServer]:
    """A PostgreSQL of the test's own, empty, to restart and kill."""
    with PostgresServer(tmp_path / "postgres", durable=False) as server:
        yield server


@pytest.fixture
def own_valkey(tmp_path: Path) -> Iterator[ValkeyServer]:
    """A broker of the test's own, to restart, kill and flush."""
    with ValkeyServer(tmp_path / "valkey") as server:
        yield server


@pytest.fixture
def settings(database_url: str, broker_url: str, tmp_path: Path) -> Settings:
    """Settings of this test's own database, broker and folder of artifacts."""
    urls = {
        "database_url": database_url,
        "broker_url": broker_url,
        "artifacts_url": f"file://{tmp_path}/artifacts",
    }
    # The environment was read when Celery was set up. To read it anew takes 3 ms.
    made = load().model_copy(update={name: SecretStr(url) for name, url in urls.items()})
    mark_store(made)
    return made


@pytest.fixture
def store(settings: Settings) -> Iterator[Database]:
    """The product's own access to this test's database, by its two roles."""
    store = Database(settings)
    yield store
    store.dispose()


@pytest.fixture
def env(settings: Settings, database: Connection) -> Iterator[MailEnvironment]:
    """One mailbox, one model and one process of the fleet."""
    with running_environment(settings, database) as made:
        yield made


@pytest.fixture
def process(settings: Settings) -> Iterator[Runtime]:
    """A process of the fleet, inside the test's own."""
    made = Runtime(settings, jitter=lambda: 0.5)
    install(made)
    publish_once()
    renew(made)
    yield made
    install(None)
    made.close()


@pytest.fixture
def told(settings: Settings, database: Connection) -> Iterator[ToldPeople]:
    """An org whose people are told things, and a process of the fleet."""
    with told_people(settings, database) as made:
        yield made


@pytest.fixture
def org(database: Connection) -> UUID:
    """An org for the jobs of a test."""
    return make_org(database)


@pytest.fixture(autouse=True)
def _no_closed_pools() -> None:
    """Celery closes its pool with an app, and kombu hands the closed pool to the next app with the same broker."""
    for group in pools._groups:  # noqa: SLF001 - kombu forgets none by itself
        for key in [one for one, pool in group.items() if _is_closed(pool)]:
            # The keys that a group shows are hashes already, which its own `del` would hash again.
            dict.pop(group, key)


def _is_closed(pool: Resource) -> bool:
    """Whether the pool, or the pool that its producers take their connections from, is closed."""
    connections = getattr(pool, "connections", pool)
    return bool(pool._closed or connections._closed)  # noqa: SLF001 - kombu has no public word for it

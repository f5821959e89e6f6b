"""A fleet whose workers reach PostgreSQL and the broker through proxies that a test can silence."""

from contextlib import ExitStack
from dataclasses import dataclass

from celery import Celery
from sqlalchemy.engine import make_url

from sandbox.servers.tcp_proxy import TcpProxy
from tests.cluster.nodes import WorkerNode
from tests.doubles.probe_jobs import Noop, Visit
from tests.fleet.fleet import QUIET_OPTIONS, Fleet, wait_until_ready

RECOVERY_S = 30.0
"""How long a fleet may take to go on with its work after any silence (docs: promises.md#p11)."""

SLOW = {
    "POSTROOM_LEASE_S": "60",
    "POSTROOM_HINT_TIMEOUT_S": "10",
    "POSTROOM_SHUTDOWN_GRACE_S": "5",
}
"""Settings as shipped where they decide how fast a fleet recovers. A hint's timeout is a delay, and no recovery."""


@dataclass
class Network:
    """What lies between the workers of a fleet and its servers."""

    fleet: Fleet
    database: TcpProxy
    broker: TcpProxy

    @property
    def environment(self) -> dict[str, str]:
        """The settings of a worker behind the proxies."""
        return SLOW | {
            "POSTROOM_DATABASE_URL": at_port(self.fleet.database_url, self.database.port),
            "POSTROOM_BROKER_URL": at_port(self.fleet.broker_url, self.broker.port),
        }

    def workers(self, *pools: str, options: tuple[str, ...] = QUIET_OPTIONS) -> list[WorkerNode]:
        """Start a worker per pool behind the proxies; ready, and with every connection in use."""
        nodes = [
            self.fleet.worker(f"worker-{n}", pool=pool, settings=self.environment, options=options)
            for n, pool in enumerate(pools)
        ]
        wait_until_ready(*nodes)
        self.work(*[Visit(then="transaction") for _ in range(4 * len(nodes))], within=60.0)
        return nodes

    def work(self, *payloads: Visit | Noop, within: float = RECOVERY_S) -> None:
        """Enqueue jobs, past the proxies, and wait for their end."""
        jobs = [payload.job(org_id=self.fleet.org) for payload in payloads]
        assert self.fleet.wait_for_end(self.fleet.enqueue_many(jobs), within=within) == {"succeeded": len(jobs)}

    def ask_workers(self) -> list[dict[str, object]]:
        """What each worker says of itself to `celery -A tasks inspect ledger`."""
        with Celery("operator", broker=self.fleet.broker_url) as operator:
            answers = operator.control.broadcast("ledger", reply=True, timeout=2)
        return [said for answer in answers for said in answer.values()]


def at_port(url: str, port: int) -> str:
    """The same address at another port."""
    return str(make_url(url).set(port=port).render_as_string(hide_password=False))


def put_between(fleet: Fleet, stack: ExitStack) -> Network:
    """Start both proxies."""
    ports = [make_url(url).port for url in (fleet.database_url, fleet.broker_url)]
    database, broker = [stack.enter_context(TcpProxy(port)) for port in ports if port is not None]
    return Network(fleet, database, broker)

"""PostgreSQL and Valkey together, as every fleet needs them."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sandbox.servers.postgres_server import PostgresServer
from sandbox.servers.valkey_server import ValkeyServer


@dataclass(frozen=True)
class Servers:
    """The two running servers; each can be stopped, killed and restarted."""

    postgres: PostgresServer
    valkey: ValkeyServer


@contextmanager
def run_servers(folder: Path, *, durable: bool = True) -> Iterator[Servers]:
    """Run both with their files under `folder`, and stop them at the end.

    They also stop when this process dies, even by SIGKILL (see `sandbox.servers.child_process`).
    """
    with ExitStack() as stack:
        postgres = stack.enter_context(PostgresServer(folder / "postgres", durable=durable))
        valkey = stack.enter_context(ValkeyServer(folder / "valkey"))
        yield Servers(postgres, valkey)

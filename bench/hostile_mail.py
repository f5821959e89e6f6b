"""What hostile mail costs a worker: `python -m bench.hostile_mail [--every N] [--size MIB] [--threads N]`.

Every mutant of the real messages, and every kind of bomb, is parsed, searched for signs of automation, and stored in a
database of its own (`make hostile`). The figures: CPU time of each message, and the process's memory before and after.
"""

import argparse
import base64
import gc
import json
import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count, islice
from pathlib import Path

import psutil
from psycopg import Error
from pydantic import SecretStr

from bench.mail_bombs import BOMBS, huge, mutants, nested
from domain.jobs.job import Origin
from domain.mail.consent import RefusedConsent
from domain.mail.parsing.mime import parse_message
from domain.mail.parsing.quoted_text import visible_text
from domain.mail.triage.automation import detect_automation
from sandbox.servers.postgres_server import PostgresServer
from settings import Settings
from storage.mail import messages
from storage.mail.accounts import accounts, connecting
from storage.mail.accounts.accounts import Account, Consent
from storage.mail.accounts.connecting import OrgMailbox
from storage.mail.messages import Message
from storage.orgs.secrets.sealing import Sealer
from storage.postgres.database import Database
from storage.postgres.migrate import upgrade

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "tests" / "mail"
MIB = 2**20
MOST_CPU_S = 2.0
MOST_GROWTH = 1.1
ALLOCATOR = frozenset({"MALLOC_ARENA_MAX", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"})
LARGEST_MIB = 25
"""Gmail takes no more from outside."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one message has cost, and what became of it."""

    stored: bool
    cut: bool
    cpu_s: float


@dataclass
class Kind:
    """What the messages of one kind have cost."""

    messages: int = 0
    stored: int = 0
    cut: int = 0
    most_cpu_s: float = 0.0
    all_cpu_s: float = 0.0

    def add(self, cost: Cost) -> None:
        """One message more."""
        self.messages += 1
        self.stored += cost.stored
        self.cut += cost.cut
        self.most_cpu_s = max(self.most_cpu_s, cost.cpu_s)
        self.all_cpu_s += cost.cpu_s


@dataclass
class Report:
    """All kinds, and the memory of the process that took them in."""

    threads: int = 1
    kinds: dict[str, Kind] = field(default_factory=dict)
    before_mib: float = 0.0
    after_mib: float = 0.0
    peak_mib: float = 0.0
    """The most that the process has held; the messages are made in it."""
    malloc: dict[str, str] = field(default_factory=lambda: {n: v for n, v in os.environ.items() if n in ALLOCATOR})
    """How the C library's allocator was set."""

    @property
    def kept(self) -> bool:
        """Whether every message was stored, within its time, and the memory was given back."""
        well = all(one.stored == one.messages and one.most_cpu_s <= MOST_CPU_S for one in self.kinds.values())
        return well and self.after_mib <= MOST_GROWTH * self.before_mib


def hostile_mail(every: int, size: int) -> Iterator[tuple[str, bytes]]:
    """Mutants of every n-th real message, then each bomb, small and large."""
    for path in sorted(CORPUS.glob("*/*.eml"))[::every]:
        raw = path.read_bytes()
        yield from mutants(raw, random.Random(path.stem))  # noqa: S311 - the same mutants in each run
    for path in sorted(CORPUS.glob("*/*.eml"))[:: max(every, 50)]:
        yield "huge", huge(path.read_bytes(), size)
    yield "nested 1,000 deep", nested(0, 1_000)
    for name, bomb in BOMBS.items():
        for bytes_of_it in (100_000, MIB, size):
            yield f"bomb: {name}", bomb(bytes_of_it)


def ordinary_mail() -> Iterator[tuple[str, bytes]]:
    """The real messages as they are."""
    return (("as they are", path.read_bytes()) for path in sorted(CORPUS.glob("*/*.eml")))


def measure(store: Database, account: Account, every: int, size: int, threads: int) -> Report:
    """Take in all of it, as many messages at a time as there are threads; ordinary mail comes before and afterwards."""
    report, process = Report(threads), psutil.Process()
    with ThreadPoolExecutor(threads) as pool:
        take_in = partial(_take_in_all, pool, store, account)
        take_in(Report(threads), ordinary_mail())
        report.before_mib = _resident(process)
        take_in(report, hostile_mail(every, size))
        take_in(Report(threads), ordinary_mail())
        report.after_mib = _resident(process)
    report.peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return report


def _take_in_all(
    pool: ThreadPoolExecutor, store: Database, account: Account, report: Report, mail: Iterator[tuple[str, bytes]]
) -> None:
    """A function of its own, so that nobody holds the last messages, of 25 MiB, when memory is measured."""
    numbers = count()
    while some := list(islice(mail, report.threads)):
        ids = [f"{name}-{next(numbers)}" for name, _ in some]
        costs = pool.map(partial(_take_in, store, account), (raw for _, raw in some), ids)
        for (name, _), cost in zip(some, costs, strict=True):
            report.kinds.setdefault(name, Kind()).add(cost)


def _take_in(store: Database, account: Account, raw: bytes, message_id: str) -> Cost:
    """What a worker's thread does with one message."""
    began = time.thread_time()
    parsed = parse_message(raw)
    automation = detect_automation(parsed)
    visible_text(parsed.text)
    stored = _store(
        store, account, Message(message_id, "t", "incoming", datetime.now(UTC), frozenset(), parsed, automation)
    )
    return Cost(stored, bool(parsed.defects), time.thread_time() - began)


def _store(store: Database, account: Account, message: Message) -> bool:
    """Whether the database takes it."""
    try:
        with store.tenant(account.org_id) as tx:
            return messages.upsert(tx, account.account_id, message).answer
    except Error as error:
        sys.stderr.write(f"{message.message_id}: {type(error).__name__}\n")
        return False


def _resident(process: psutil.Process) -> float:
    gc.collect()
    return float(process.memory_info().rss) / MIB


def _account(store: Database, sealer: Sealer) -> Account:
    consent = Consent(SecretStr("access"), SecretStr("refresh"), datetime.now(UTC) + timedelta(hours=1))
    with store.ledger() as tx:
        mailbox = OrgMailbox(accounts.ensure_org(tx, "hostile"), "owner@example.com", "owner@example.com")
        added = connecting.connect(tx, sealer, mailbox, consent, by=Origin())
    if isinstance(added, RefusedConsent):
        raise TypeError(added.words())
    return added.account


def show(report: Report) -> str:
    """The report as a table."""
    lines = [f"{'kind':36}{'messages':>9}{'stored':>8}{'cut':>7}{'most CPU s':>12}{'all CPU s':>11}"]
    lines += [
        f"{name:36}{one.messages:9}{one.stored:8}{one.cut:7}{one.most_cpu_s:12.3f}{one.all_cpu_s:11.2f}"
        for name, one in report.kinds.items()
    ]
    grown = report.after_mib / report.before_mib
    memory = f"{report.before_mib:.0f} MiB before, {report.after_mib:.0f} MiB after ({grown:.2f})"
    lines.append(f"memory: {memory}, {report.peak_mib:.0f} MiB at most")
    return "\n".join(lines)


def main() -> int:
    """Measure, print, and write `build/hostile_mail.json`; status 1 when a bound is not kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="mutants of every n-th real message")
    parser.add_argument("--size", type=int, default=LARGEST_MIB, help="MiB of the largest messages")
    parser.add_argument("--threads", type=int, default=8, help="messages at a time, as in a worker")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, PostgresServer(Path(folder) / "data", durable=False) as server:
        settings = Settings(
            database_url=SecretStr(server.url()), sealing_keys=SecretStr(base64.b64encode(os.urandom(32)).decode())
        )
        upgrade(settings)
        store = Database(settings)
        report = measure(
            store, _account(store, Sealer.of(settings)), options.every, options.size * MIB, options.threads
        )
        store.dispose()
    sys.stdout.write(show(report) + "\n")
    target = ROOT / "build" / "hostile_mail.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(asdict(report), indent=2) + "\n")
    return 0 if report.kept else 1


if __name__ == "__main__":
    sys.exit(main())

"""What hostile mail costs a worker: `python -m bench.hostile_mail [--every N] [--size MIB]` (`make hostile`).

Every mutant of the real messages, and every kind of bomb, is parsed, searched for signs of automation, and stored in a
database of its own. The figures: CPU time of each message in this process, and the process's memory before and after.
"""

import argparse
import base64
import gc
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
from psycopg import Error
from pydantic import SecretStr

from bench.mail_bombs import BOMBS, huge, mutants, nested
from domain.mail.parsing.mime import parse_message
from domain.mail.parsing.quoted_text import visible_text
from domain.mail.triage.automation import detect_automation
from sandbox.servers.postgres_server import PostgresServer
from settings import Settings
from storage.accounts import accounts
from storage.accounts.accounts import Account, Consent
from storage.mail import messages
from storage.mail.messages import Message
from storage.postgres.database import Database
from storage.postgres.migrate import upgrade
from storage.secrets.sealing import Sealer

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "tests" / "mail"
MIB = 2**20
MOST_CPU_S = 2.0
MOST_GROWTH = 1.1
LARGEST_MIB = 25
"""Gmail takes no more from outside."""


@dataclass
class Kind:
    """What the messages of one kind have cost."""

    messages: int = 0
    stored: int = 0
    cut: int = 0
    most_cpu_s: float = 0.0
    all_cpu_s: float = 0.0


@dataclass
class Report:
    """All kinds, and the memory of the process that took them in."""

    kinds: dict[str, Kind] = field(default_factory=dict)
    before_mib: float = 0.0
    after_mib: float = 0.0

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


def measure(store: Database, account: Account, every: int, size: int) -> Report:
    """Read and store all of it, one after the other."""
    report, process = Report(), psutil.Process()
    for path in sorted(CORPUS.glob("*/*.eml")):
        _measure_one(store, account, Kind(), path.read_bytes(), path.stem)
    report.before_mib = _resident(process)
    for number, (name, raw) in enumerate(hostile_mail(every, size)):
        _measure_one(store, account, report.kinds.setdefault(name, Kind()), raw, f"h{number}")
    report.after_mib = _resident(process)
    return report


def _measure_one(store: Database, account: Account, kind: Kind, raw: bytes, message_id: str) -> None:
    began = time.process_time()
    parsed = parse_message(raw)
    automation = detect_automation(parsed)
    visible_text(parsed.text)
    kind.messages += 1
    kind.stored += _store(
        store, account, Message(message_id, "t", "incoming", datetime.now(UTC), frozenset(), parsed, automation)
    )
    took = time.process_time() - began
    kind.cut += bool(parsed.defects)
    kind.most_cpu_s = max(kind.most_cpu_s, took)
    kind.all_cpu_s += took


def _store(store: Database, account: Account, message: Message) -> bool:
    """Whether the database takes it."""
    try:
        with store.tenant(account.org_id) as tx:
            return messages.upsert(tx, account.account_id, message)
    except Error as error:
        sys.stderr.write(f"{message.message_id}: {type(error).__name__}\n")
        return False


def _resident(process: psutil.Process) -> float:
    gc.collect()
    return float(process.memory_info().rss) / MIB


def _account(store: Database, sealer: Sealer) -> Account:
    consent = Consent(SecretStr("access"), SecretStr("refresh"), datetime.now(UTC) + timedelta(hours=1))
    with store.ledger() as tx:
        return accounts.add(tx, sealer, org="hostile", email="owner@example.com", consent=consent).account


def show(report: Report) -> str:
    """The report as a table."""
    lines = [f"{'kind':36}{'messages':>9}{'stored':>8}{'cut':>7}{'most CPU s':>12}{'all CPU s':>11}"]
    lines += [
        f"{name:36}{one.messages:9}{one.stored:8}{one.cut:7}{one.most_cpu_s:12.3f}{one.all_cpu_s:11.2f}"
        for name, one in report.kinds.items()
    ]
    grown = report.after_mib / report.before_mib
    lines.append(f"memory: {report.before_mib:.0f} MiB before, {report.after_mib:.0f} MiB after ({grown:.2f})")
    return "\n".join(lines)


def main() -> int:
    """Measure, print, and write `build/hostile_mail.json`; status 1 when a bound is not kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="mutants of every n-th real message")
    parser.add_argument("--size", type=int, default=LARGEST_MIB, help="MiB of the largest messages")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, PostgresServer(Path(folder) / "data", durable=False) as server:
        settings = Settings(
            database_url=SecretStr(server.url()), sealing_keys=SecretStr(base64.b64encode(os.urandom(32)).decode())
        )
        upgrade(settings)
        store = Database(settings)
        report = measure(store, _account(store, Sealer.of(settings)), options.every, options.size * MIB)
        store.dispose()
    sys.stdout.write(show(report) + "\n")
    target = ROOT / "build" / "hostile_mail.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(asdict(report), indent=2) + "\n")
    return 0 if report.kept else 1


if __name__ == "__main__":
    sys.exit(main())

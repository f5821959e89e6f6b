"""The local stack: two servers, five emulators and the fleet, as processes that end with their starter."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg
from psycopg import sql

from sandbox.demo.addresses import CLIENT, PUSHER, Addresses
from sandbox.demo.endings import signals_deferred
from sandbox.demo.processes import ROOT, WORKERS, Member, emulators, gateway_and_flower, workers
from sandbox.emulator.client import EmulatorControl
from sandbox.emulator.control import GmailControl
from sandbox.fcm.fcm import FcmControl
from sandbox.microsoft.control import MicrosoftControl
from sandbox.resend.control import ResendControl
from sandbox.servers.servers import run_servers
from sandbox.servers.waiting import wait_until
from sandbox.twilio.control import TwilioControl

DATABASE = "postroom"
READY_WITHIN_S = 90.0
"""How long each process may take to be ready, on a slow and busy machine."""
STOP_WITHIN_S = 15.0

Tell = Callable[[str], None]


class CommandRefused(Exception):
    """A command of Postroom's command line failed; the message is its last line."""


class Fleet:
    """A context manager: starts everything from empty databases and waits until it is ready; stops it at the end.

    `folder` holds databases and logs and is emptied first. The processes also end when this one dies, even by SIGKILL.
    """

    addresses: Addresses
    gmail: GmailControl
    anthropic: EmulatorControl
    discord: EmulatorControl
    resend: ResendControl
    microsoft: MicrosoftControl
    twilio: TwilioControl
    fcm: FcmControl

    def __init__(self, folder: Path, tell: Tell) -> None:
        """`tell` gets a short line about each step of the start."""
        self.folder = folder.absolute()
        self.members: list[Member] = []
        self._tell = tell
        self._stack = ExitStack()

    @property
    def logs(self) -> Path:
        """Where each process writes its log."""
        return self.folder / "logs"

    def __enter__(self) -> Self:
        """Start everything and wait until it is ready."""
        with ExitStack() as failed:
            failed.callback(self._stack.close)
            self._start()
            failed.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop everything, the fleet before the servers."""
        self._stack.close()

    def check(self) -> None:
        """Raise `Died` when a process has ended by itself."""
        for member in self.members:
            member.check()

    def keep(self, name: str, text: str) -> None:
        """Write a file beside the report."""
        (self.folder / name).write_text(text, encoding="utf-8")

    def celery(
        self, *words: str, secrets: dict[str, str] | None = None, typed: str = "", secret_answer: bool = False
    ) -> Any:  # noqa: ANN401  # any JSON value
        """Run `celery -A tasks …` and return the JSON that it prints.

        `secrets` are passed in its environment, `typed` on its standard input. The log has the answer, unless that is
        secret.
        """
        done = subprocess.run(  # noqa: S603  # our own command line
            [sys.executable, "-m", "celery", "-A", "tasks", *words, "--json"],
            cwd=ROOT,
            env=os.environ | self.addresses.environment() | (secrets or {}),
            input=typed,
            capture_output=True,
            text=True,
            timeout=READY_WITHIN_S,
            check=False,
        )
        with (self.logs / "commands.log").open("a") as log:
            answer = "" if secret_answer else done.stdout
            log.write(f"$ celery -A tasks {' '.join(words)}\n{answer}{done.stderr}")
        if done.returncode != 0:
            said = (done.stderr.strip() or done.stdout.strip()).splitlines()
            raise CommandRefused(f"celery -A tasks {words[0]} {words[1]}: {said[-1] if said else 'said nothing'}")
        return json.loads(done.stdout)

    def _start(self) -> None:
        empty(self.folder)
        with signals_deferred():
            servers = self._stack.enter_context(run_servers(self.folder))
        with psycopg.connect(servers.postgres.url(), autocommit=True) as connection:
            connection.execute(sql.SQL("create database {}").format(sql.Identifier(DATABASE)))
        self.addresses = Addresses.choose(database=servers.postgres.url(DATABASE), broker=servers.valkey.url())
        self._tell("PostgreSQL and Valkey answer")
        self._launch([*emulators(self.addresses, self.logs), *gateway_and_flower(self.addresses, self.logs)])
        self.celery("database", "migrate")
        self._tell("The database is migrated")
        self._launch(workers(self.addresses, self.logs))
        for member in self.members:
            wait_until(member.ready, within=READY_WITHIN_S, describe=f"{member.name} to be ready")
        self.gmail, self.anthropic = GmailControl(self.addresses.gmail), EmulatorControl(self.addresses.anthropic)
        self.discord = EmulatorControl(self.addresses.discord)
        self.resend, self.microsoft = ResendControl(self.addresses.resend), MicrosoftControl(self.addresses.microsoft)
        self.twilio, self.fcm = TwilioControl(self.addresses.twilio), FcmControl(self.addresses.fcm)
        self.gmail.register_client(CLIENT, CLIENT, self.addresses.consent_callback)
        self.gmail.configure_push(self.addresses.webhook, self.addresses.webhook, service_account=PUSHER)
        self._tell(f"Emulators, gateway, {len(WORKERS)} workers, beat and Flower are ready")

    def _launch(self, members: Iterable[Member]) -> None:
        started: list[Member] = []
        self._stack.callback(stop_together, started)
        for member in members:
            with signals_deferred():
                started.append(member)
                member.process.start()
            self.members.append(member)


def stop_together(members: Iterable[Member]) -> None:
    """Signal all before waiting for any, so that they stop in parallel."""
    asked = list(members)
    for member in asked:
        if member.process.running:
            member.process.send(signal.SIGTERM)
    for member in asked:
        member.process.stop(within=STOP_WITHIN_S)


def empty(folder: Path) -> None:
    """Delete the folder of an earlier run, and make it anew."""
    if folder.exists():
        shutil.rmtree(folder)
    (folder / "logs").mkdir(parents=True)

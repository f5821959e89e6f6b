"""`make up` and `make down`: the demo's local stack, kept running by a process in the background."""

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from sandbox.demo.demo import EXPECTED_ERRORS
from sandbox.demo.endings import Stopped, alone_in, forget_settings, stopped_by_signals
from sandbox.demo.fleet import Fleet
from sandbox.demo.mailbox_story import OWNER
from sandbox.demo.processes import ROOT
from sandbox.demo.screen import Screen, relative
from sandbox.demo.set_up import connect
from sandbox.demo.story import ACCESS_TOKEN, ORG, REFRESH_TOKEN, deliver, make_mailbox, whole_story
from sandbox.servers.waiting import wait_until
from settings import PREFIX

FOLDER = ROOT / "build" / "up"
START_WITHIN_S = 180.0
STOP_WITHIN_S = 60.0
OPERATOR = "operator@example.org"
OF_DEVELOPERS = (f"{PREFIX}JOBS", "PYTHONPATH")
"""What the fleet takes of the developer's environment: job types of their own, and where Python finds them."""


@dataclass(frozen=True)
class State:
    """The content of `build/up/state.json`: the background process, all processes, URLs, the environment, a link."""

    keeper: int
    keeper_started_at: float
    processes: dict[str, int]
    urls: dict[str, str]
    environment: dict[str, str]
    sign_in: str = ""
    """Where the console's operator chooses a password: a link that works once."""

    @property
    def alive(self) -> bool:
        """Whether the background process runs; a later process with the same id is another one."""
        try:
            return bool(psutil.Process(self.keeper).create_time() == self.keeper_started_at)
        except psutil.NoSuchProcess:
            return False

    @property
    def dead(self) -> list[str]:
        """The names of the processes that have ended."""
        return [name for name, process in self.processes.items() if not _runs(process)]


def main() -> int:
    """Start, keep or stop the local stack; exit status 0 when that was done."""
    options = _options()
    screen = Screen()
    try:
        if options.keep:
            return keep(options.folder, screen)
        return stop(options.folder, screen) if options.down else start(options.folder, screen)
    except Stopped as stopped:
        screen.complain(f"stopped by {stopped}; nothing is left running")
        return stopped.exit_status
    except EXPECTED_ERRORS as error:
        screen.complain(f"{type(error).__name__}: {error}")
        return 1


def start(folder: Path, screen: Screen) -> int:
    """Start the stack with a background process, wait until it is ready, and print its addresses."""
    if (state := read_state(folder)) is not None:
        screen.tell("The local stack is up already; `make down` stops it")
        show(state, folder, screen)
        if state.dead:
            screen.complain(f"not running any more: {', '.join(state.dead)}; `make down` and `make up` start all anew")
            return 1
        return 0
    log = folder.with_name(f"{folder.name}.log")
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        keeper = subprocess.Popen(  # noqa: S603  # this very module
            [sys.executable, "-m", "sandbox.up", "--keep", "--folder", str(folder)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    with ExitStack() as failed, stopped_by_signals():
        failed.callback(keeper.wait)
        failed.callback(keeper.terminate)
        wait_until(
            lambda: keeper.poll() is not None or read_state(folder),
            within=START_WITHIN_S,
            describe="the local stack to be ready",
        )
        screen.console.print(log.read_text().rstrip(), markup=False, soft_wrap=True)
        state = read_state(folder)
        if state is None:
            return 1
        failed.pop_all()
    show(state, folder, screen)
    # The background process outlives this one. Without a status Python would warn that it still runs.
    keeper.returncode = 0
    return 0


def stop(folder: Path, screen: Screen) -> int:
    """Ask the background process to stop everything, and wait for its end."""
    state = read_state(folder)
    if state is None:
        screen.tell("Nothing is up")
        return 0
    os.kill(state.keeper, signal.SIGTERM)
    wait_until(lambda: not state.alive, within=STOP_WITHIN_S, describe=f"the end of process {state.keeper}")
    screen.tell("Everything is stopped")
    return 0


def keep(folder: Path, screen: Screen) -> int:
    """Run the stack until a signal comes; the state file exists as long as the stack is ready."""
    own = {name: os.environ[name] for name in OF_DEVELOPERS if name in os.environ}
    forget_settings()
    os.environ.update(own)
    try:
        with stopped_by_signals(), alone_in(folder), Fleet(folder, screen.tell) as fleet:
            mail = whole_story()
            deliver(make_mailbox(fleet.gmail), mail)
            connect(fleet, org=ORG, email=OWNER, access_token=ACCESS_TOKEN, refresh_token=REFRESH_TOKEN)
            screen.tell(f"{OWNER} is connected, with {len(mail)} messages")
            made = fleet.celery("operators", "add", OPERATOR, "--role", "admin", secret_answer=True)
            _write_state(folder, fleet, own, sign_in=made["link"])
            while True:
                signal.pause()
    except Stopped as stopped:
        screen.tell(f"stopped by {stopped}")
        return 0
    finally:
        _state_file(folder).unlink(missing_ok=True)


def show(state: State, folder: Path, screen: Screen) -> None:
    """Print URLs, the environment to export, where to look, and what to do next."""
    for name, url in state.urls.items():
        screen.console.print(f"  {name:<10} {url}", soft_wrap=True)
    screen.console.print(f"  {'logs':<10} {relative(folder / 'logs')}\n", soft_wrap=True)
    screen.console.print(exports(state.environment), markup=False, soft_wrap=True)
    screen.console.print(
        f"\nTo work in it:  . {relative(folder / 'environment')}  and then, for example,"
        f"  celery -A tasks jobs list\nTo look at it:  {state.urls.get('console')}  as {OPERATOR}, who chooses a"
        f" password once at\n                {state.sign_in}\nTo stop it:     make down",
        markup=False,
        soft_wrap=True,
    )


def exports(environment: dict[str, str]) -> str:
    """Lines of `export` for a shell; it also finds `celery` then, and the `python` that has our packages."""
    lines = [f"export {name}={shlex.quote(value)}" for name, value in environment.items()]
    return "\n".join([*lines, f'export PATH={shlex.quote(str(Path(sys.executable).parent))}:"$PATH"'])


def read_state(folder: Path) -> State | None:
    """The state of the stack that runs in a folder; None when none runs, even if an earlier one left a file."""
    try:
        state = State(**json.loads(_state_file(folder).read_text()))
    except FileNotFoundError:
        return None
    return state if state.alive else None


def _write_state(folder: Path, fleet: Fleet, own: Mapping[str, str], *, sign_in: str) -> None:
    addresses = fleet.addresses
    urls = {
        name: str(getattr(addresses, name))
        for name in (
            "gateway",
            "flower",
            "database",
            "broker",
            "gmail",
            "anthropic",
            "resend",
            "microsoft",
            "twilio",
            "fcm",
            "s3",
        )
    }
    urls = {"console": f"{addresses.gateway}/console", **urls}
    processes = {member.name: member.process.pid for member in fleet.members}
    environment = {**addresses.environment(), **own}
    state = State(os.getpid(), psutil.Process().create_time(), processes, urls, environment, sign_in)
    (folder / "environment").write_text(exports(state.environment) + "\n")
    # Written aside and renamed, so that no reader sees half of the file.
    half = _state_file(folder).with_suffix(".half")
    half.write_text(json.dumps(asdict(state), indent=2) + "\n")
    half.replace(_state_file(folder))


def _runs(process: int) -> bool:
    """Whether a process of that id runs; one that has ended is a zombie until its parent asks for its status."""
    try:
        return bool(psutil.Process(process).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _state_file(folder: Path) -> Path:
    return folder / "state.json"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Start the local stack with the whole fleet and leave it running.")
    parser.add_argument("--down", action="store_true", help="stop what was started")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where databases, logs and state go; emptied first")
    parser.add_argument("--keep", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

"""What stands for the images of a Compose file on a machine without an engine and a registry.

Our image is the one that buildah built, or without it this environment. PostgreSQL and Valkey are those of the wheels,
Prometheus is Debian's. Each is started as its image's entry point starts it.
"""

import os
import pwd
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import psutil

from sandbox.servers.free_port import LOOPBACK
from sandbox.servers.unprivileged import UNPRIVILEGED, give, make_reachable
from sandbox.servers.wheel_binaries import find_postgres_programs, find_valkey_program
from tests.deploy.compose_file import Service
from tests.house.reading import ROOT

OURS = "postroom"
PROGRAMS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
USER = 10_001
"""The user of our image, whom a new volume belongs to."""
CLI = (
    f"#!{sys.executable}\nimport redis, sys\nprint(redis.Redis(decode_responses=True).execute_command(*sys.argv[1:]))\n"
)


class Image(Protocol):
    """Words that run a command as in a container of an image."""

    @property
    def stop_signal(self) -> signal.Signals:
        """What Compose sends to stop it."""

    def words(self, service: Service, command: Sequence[str], *, is_main: bool) -> list[str]:
        """A command of a service; its main process is started by the image's entry point."""

    def main_process(self, started: int) -> int:
        """The id of what Compose would signal, by the id of the process that runs `words`."""


class BuiltImage:
    """Our image: a root, a user and an environment of its own, by buildah in a chroot."""

    stop_signal = signal.SIGTERM

    def __init__(self, folder: Path, hosts: str, stack: ExitStack) -> None:
        """Volumes are below `folder`; the containers end with the stack."""
        self._folder, self._stack = folder, stack
        self._hosts = folder / "hosts"
        self._hosts.write_text(hosts)
        self._containers: dict[str, str] = {}

    def words(self, service: Service, command: Sequence[str], *, is_main: bool) -> list[str]:
        """Compose gives a command its environment, its volumes and its secrets.

        Checks have a container of their own: buildah fails when two commands of one container end.
        """
        mounts = {target: str(found_at(source, self._folder)) for target, source in service.mounts.items()}
        mounts["/etc/hosts"] = str(self._hosts)
        volumes = [f"--volume={source}:{target}" for target, source in mounts.items()]
        given = [f"--env={name}={value}" for name, value in service.environment.items()]
        container = self._container(service.name if is_main else f"{service.name}'s checks")
        return ["buildah", "run", "--isolation", "chroot", *given, *volumes, container, "--", *command]

    def main_process(self, started: int) -> int:
        """Below buildah's own processes, which pass no signal on."""
        process = psutil.Process(started)
        while "buildah" in process.name():
            (process,) = process.children()
        return int(process.pid)

    def _container(self, use: str) -> str:
        if use not in self._containers:
            self._containers[use] = buildah("from", "--pull-never", OURS)
            self._stack.callback(buildah, "rm", self._containers[use])
        return self._containers[use]


@dataclass(frozen=True)
class Programs:
    """Programs of this machine in the place of an image: what is mounted in a container is named by its path here."""

    folder: Path
    path: str
    environment: Mapping[str, str] = field(default_factory=dict)
    entry_point: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    """What the image has configured for its main process."""
    user: str | None = None
    stop_signal: signal.Signals = signal.SIGTERM

    def words(self, service: Service, command: Sequence[str], *, is_main: bool) -> list[str]:
        """In an environment that has nothing of ours."""
        become = (
            ["setpriv", f"--reuid={self.user}", f"--regid={group_of(self.user)}", "--clear-groups"] if self.user else []
        )
        given = {"PATH": f"{self.path}:{PROGRAMS}", **self.environment, **service.environment}
        words = [*self.entry_point, *command, *self.options] if is_main else command
        here = [self._here(word, service) for word in (*(f"{name}={value}" for name, value in given.items()), *words)]
        return [*become, "env", "-i", *here]

    def main_process(self, started: int) -> int:
        """All words before the command's own are programs that become the next."""
        return started

    def _here(self, word: str, service: Service) -> str:
        targets = "|".join(map(re.escape, sorted(service.mounts, key=len, reverse=True)))
        if not targets:
            return word
        return re.sub(rf"(?<![\w/])({targets})", lambda one: str(found_at(service.mounts[one[0]], self.folder)), word)


def this_environment(folder: Path) -> Programs:
    """Our processes without the image: from the sources, with the libraries that the tests have."""
    artifacts = f"file://{found_at('artifacts', folder)}"
    return Programs(folder, str(Path(sys.executable).parent), {"POSTROOM_ARTIFACTS_URL": artifacts})


def postgres(folder: Path) -> Programs:
    """On an empty volume the image's entry point makes the database; a login from outside needs its password."""
    data, programs = folder / "postgres", find_postgres_programs()
    data.mkdir()
    make_reachable(programs / "postgres")
    make_reachable(data)
    give(data, UNPRIVILEGED)
    password = folder / "owner_password"
    password.write_bytes((folder / "secrets" / "owner_password").read_bytes())
    password.chmod(0o444)
    made = [str(programs / "initdb"), "-D", str(data), "-U", OURS, f"--pwfile={password}", "--no-sync"]
    made += ["--auth-local=trust", "--auth-host=scram-sha-256", "--encoding=UTF8", "--locale=C"]
    _run_as_nobody(made)
    with (data / "pg_hba.conf").open("a") as rules:
        rules.write("host all all all scram-sha-256\n")
    _run_as_nobody([str(programs / "postgres"), "--single", "-D", str(data), "postgres"], b"create database postroom\n")
    options = ("-D", str(data), "-c", "listen_addresses=*", "-c", "unix_socket_directories=")
    return Programs(
        folder, str(programs), {"PGHOST": LOOPBACK}, options=options, user=UNPRIVILEGED, stop_signal=signal.SIGINT
    )


def _run_as_nobody(words: Sequence[str], said: bytes = b"") -> None:
    subprocess.run(  # noqa: S603  # our own words
        words,
        input=said,
        user=UNPRIVILEGED,
        group=group_of(UNPRIVILEGED),
        extra_groups=[],
        check=True,
        capture_output=True,
    )


def valkey(folder: Path) -> Programs:
    """The image takes connections from everywhere."""
    programs = folder / "valkey"
    programs.mkdir()
    (programs / "valkey-server").symlink_to(find_valkey_program())
    (programs / "valkey-cli").write_text(CLI)
    (programs / "valkey-cli").chmod(0o755)
    return Programs(folder, str(programs), options=("--bind", "*", "--protected-mode", "no"))


def prometheus(folder: Path) -> Programs:
    """Debian's."""
    return Programs(folder, PROGRAMS, entry_point=("prometheus",))


STAND_INS: Mapping[str, Callable[[Path], Programs]] = {
    "postgres": postgres,
    "valkey/valkey": valkey,
    "prom/prometheus": prometheus,
}
"""Programs by the image that they stand for."""


def found_at(source: str, folder: Path) -> Path:
    """Where a volume, a secret or a folder of the repository is: a volume is a folder of the run's own."""
    if source.startswith("secrets/"):
        return folder / source
    if source.startswith("./"):
        return ROOT / source
    volume = folder / "volumes" / source
    volume.mkdir(parents=True, exist_ok=True)
    os.chown(volume, USER, USER)
    return volume


def group_of(user: str) -> int:
    return pwd.getpwnam(user).pw_gid


def buildah(*words: str) -> str:
    """Run buildah; what it printed."""
    done = subprocess.run(["buildah", *words], check=True, capture_output=True, text=True)  # noqa: S603, S607  # words of the tests
    return done.stdout.strip()

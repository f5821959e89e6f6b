"""A bare machine: a shell that knows where programs are and nothing else, for the commands that pages show."""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from sandbox.servers.child_process import MARK, ChildProcess, Command
from tests.house.reading import ROOT

END_WITHIN_S = 600.0
"""How long a command may take on a busy machine, in seconds."""
PROGRAMS = f"{Path(sys.executable).parent}:{os.defpath}"


class Machine:
    """Runs lines of a page as its reader types them, after the lines that set the reader's environment."""

    def __init__(self, home: Path, stack: ExitStack, *, folder: Path = ROOT, exports: str = "") -> None:
        """All that is started here ends with the stack; output goes to files under `home`."""
        self.exports = exports
        self._home = home
        self._folder = folder
        self._stack = stack
        self._started = 0

    def run(self, line: str, **variables: str) -> tuple[int, str]:
        """Run a line to its end; its exit status, and what it wrote."""
        done = subprocess.run(  # noqa: S603  # lines of our own pages
            self._words(line, variables),
            cwd=self._folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=END_WITHIN_S,
        )
        return done.returncode, done.stdout + done.stderr

    def do(self, block: str) -> str:
        """Run a block, and expect it to succeed; what it wrote."""
        status, output = self.run(block)
        assert status == 0, output
        return output

    def start(self, line: str) -> ChildProcess:
        """Start a line that does not end by itself."""
        self._started += 1
        process = ChildProcess(
            Command(self._words(line, {}), folder=self._folder), log=self._home / f"{self._started}.log"
        )
        process.start()
        self._stack.callback(process.stop)
        self._stack.callback(process.sweep)
        return process

    def _words(self, line: str, variables: dict[str, str]) -> list[str]:
        """The mark stays in the environment, so that all that a shell starts is found at the end."""
        kept = {"PATH": PROGRAMS, "HOME": str(self._home), **variables}
        empty = ["sh", "-c", f'exec env -i {MARK}="${MARK}" "$@"', "sh"]
        return [*empty, *(f"{name}={value}" for name, value in kept.items()), "sh", "-euc", f"{self.exports}\n{line}"]

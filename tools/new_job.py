"""Begins a new job type: `python -m tools.new_job FAMILY NAME` (`make new-job F=family J=name`).

Writes its payload class, its handler and its test into the files of its family, which a person then fills in. What is
written runs as it stands: a job that reads its mailbox's row.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from string import Template

from domain.payloads import payload_types

ROOT = Path(__file__).resolve().parent.parent
WORD = re.compile(r"[a-z]+(_[a-z]+)*")

Names = tuple[tuple[str, str], ...]
"""What a piece of code imports: module and name."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the scaffold: where it goes, what a new file says first, what the code imports, and the code."""

    folder: str
    file: str
    opening: str
    imports: Names
    code: str


PARTS = (
    Part(
        "domain/payloads",
        "${family}.py",
        "The payloads of the ${family} family.",
        (
            ("uuid", "UUID"),
            ("domain.jobs.uniqueness", "while_queued"),
            ("domain.payloads.payload", "Payload"),
        ),
        '''
class ${payload}(Payload, job_type="${family}.${name}", unique=while_queued("account_id")):
    """Which mailbox."""

    account_id: UUID
''',
    ),
    Part(
        "tasks",
        "${family}.py",
        "The ${family} family.",
        (
            ("domain.jobs.job", "Done"),
            ("domain.jobs.job", "Outcome"),
            ("domain.jobs.queues", "Queue"),
            ("domain.payloads.${family}", "${payload}"),
            ("engine.catalogue", "job"),
            ("engine.context", "JobContext"),
            ("storage.accounts", "accounts"),
        ),
        '''
@job(queue=Queue.DEFAULT)
def ${name}(ctx: JobContext, payload: ${payload}) -> Outcome:
    """Read the mailbox's row."""
    with ctx.tx() as tx:
        account = accounts.get(tx, payload.account_id)
    return Done({"email": account.email})
''',
    ),
    Part(
        "tests/tasks",
        "test_${family}.py",
        "The ${family} family.",
        (("tests.doubles.mail_environment", "MailEnvironment"),),
        """
def test_${name}_reads_the_mailbox(env: MailEnvironment) -> None:
    job_id = env.enqueue("${family}.${name}")
    assert env.run(job_id) == "succeeded"
    assert env.job(job_id)["output"] == {"email": env.account.email}
""",
    ),
)


def begin(root: Path, family: str, name: str) -> list[Path]:
    """Write the scaffold of a job type into a checkout; returns the files that were written.

    Raises `ValueError` for a name that is no plain word or is taken; nothing is written then.
    """
    for option, word in (("F", family), ("J", name)):
        if not WORD.fullmatch(word):
            raise ValueError(f"{option}={word!r} is no name: write lower-case words joined by underscores")
    words = {"family": family, "name": name, "payload": "".join(map(str.capitalize, name.split("_"))) + "Payload"}
    places = [(root / part.folder / Template(part.file).substitute(words), part) for part in PARTS]
    taken = [reason for path, part in places for reason in _taken(path, Template(part.code).substitute(words))]
    if payload_types.find(f"{family}.{name}") is not None:
        taken.insert(0, f"there is a job type {family}.{name}")
    if taken:
        raise ValueError(taken[0])
    for path, part in places:
        path.write_text(_with_part(path, part, words), encoding="utf-8")
    _format(root, [path for path, _ in places])
    return [path for path, _ in places]


def _taken(path: Path, code: str) -> Iterator[str]:
    """What stands in the way of a piece of code: a top-level name of the file that it would define anew."""
    if path.exists():
        there = set(_defined(path.read_text(encoding="utf-8")))
        yield from (f"{path} has the name {name} already" for name in _defined(code) if name in there)


def _defined(source: str) -> Iterator[str]:
    """The names that a file defines or imports at its top level."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)


def _with_part(path: Path, part: Part, words: dict[str, str]) -> str:
    """The file's text with the part's imports and code; a file that does not exist begins with its docstring."""
    opening = Template(f'"""{part.opening}"""\n').substitute(words)
    source = path.read_text(encoding="utf-8") if path.exists() else opening
    wanted = [(Template(module).substitute(words), Template(name).substitute(words)) for module, name in part.imports]
    lines = source.splitlines()
    place = _after_imports(source)
    missing = [
        f"from {module} import {name}" for module, name in wanted if (module, name) not in set(_imported(source))
    ]
    return "\n".join([*lines[:place], *missing, *lines[place:], "", Template(part.code).substitute(words)])


def _after_imports(source: str) -> int:
    """How many lines a file's docstring and imports take."""
    heads = [node for node in ast.parse(source).body if isinstance(node, ast.Import | ast.ImportFrom)]
    last = heads[-1] if heads else ast.parse(source).body[0]
    return last.end_lineno or 0


def _imported(source: str) -> Iterator[tuple[str, str]]:
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names if alias.asname is None)


def _format(root: Path, files: Iterable[Path]) -> None:
    """Sort the imports and format, as `make format` does."""
    names = [str(path) for path in files]
    for command in (["check", "--quiet", "--select", "I", "--fix"], ["format", "--quiet"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, *names], cwd=root, check=True)  # noqa: S603 - our own linter


def main(arguments: list[str]) -> int:
    """Begin the job type that the command line names; returns the exit status."""
    family, name, *_ = [*arguments, "", ""]
    try:
        written = begin(ROOT, family, name)
    except ValueError as problem:
        sys.stderr.write(f"make new-job: {problem}\n")
        return 1
    for path in written:
        sys.stdout.write(f"written, to be filled in: {path.relative_to(ROOT)}\n")
    sys.stdout.write("then: make golden docs\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

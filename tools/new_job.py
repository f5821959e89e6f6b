"""Begins a new job type: `python -m tools.new_job FAMILY NAME [SYSTEM]` (`make new-job F=family J=name S=system`).

Writes its payload class, its handler and its test into the files of its family, which a person then fills in. What is
written runs as it stands: a job that reads its mailbox's row. A family that is there has its system already.
"""

import ast
import keyword
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from string import Template

from domain.jobs.contract import LONGEST_JOB_TYPE
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
        "tasks/${system}",
        "${family}.py",
        "The ${family} family.",
        (
            ("domain.jobs.job", "Done"),
            ("domain.jobs.job", "Outcome"),
            ("domain.jobs.queues", "Queue"),
            ("domain.payloads.${family}", "${payload}"),
            ("engine.catalogue", "job"),
            ("engine.context", "JobContext"),
            ("storage.mail.accounts", "accounts"),
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
        "tests/tasks/${system}",
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


def begin(root: Path, family: str, name: str, system: str = "") -> list[Path]:
    """Write the scaffold of a job type into a checkout; returns the files that were written.

    Raises `ValueError` for a name that is no plain word, is taken or cannot work, and for a new family of no system;
    nothing is written then.
    """
    _check_words(family, name)
    payload = "".join(map(str.capitalize, name.split("_"))) + "Payload"
    words = {"family": family, "name": name, "payload": payload, "system": _system_of(root, family, system)}
    places = [(root / Template(f"{part.folder}/{part.file}").substitute(words), part) for part in PARTS]
    _check_family(family, [path for path, _ in places])
    texts = {path: _with_part(path, part, words) for path, part in places}
    for path, text in texts.items():
        _parsed(text, path)
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    format_files(root, texts)
    return list(texts)


def systems(root: Path) -> list[str]:
    """The systems of a checkout, by name."""
    return sorted(path.parent.name for path in (root / "operations").glob("*/__init__.py"))


def _system_of(root: Path, family: str, named: str) -> str:
    """The system in which a family is, or is to be."""
    found = [path.parent.name for path in (root / "tasks").glob(f"*/{family}.py")]
    if found and named not in {"", *found}:
        raise ValueError(f"S={named}: the family {family} is in {found[0]}")
    system = found[0] if found else named
    if system not in systems(root):
        raise ValueError(f"S={named!r} is no system: name one of {', '.join(systems(root))}")
    return system


def _check_words(family: str, name: str) -> None:
    """Refuse words that are no names in Python, and a job type that exists or has too long a name."""
    for option, word in (("F", family), ("J", name)):
        if not WORD.fullmatch(word):
            raise ValueError(f"{option}={word!r} is no name: write lower-case words joined by underscores")
        if keyword.iskeyword(word):
            raise ValueError(f"{option}={word} is a keyword of Python")
    job_type = f"{family}.{name}"
    if len(job_type) > LONGEST_JOB_TYPE:
        raise ValueError(f"{job_type} has {len(job_type)} characters; a job type has at most {LONGEST_JOB_TYPE}")
    if payload_types.find(job_type) is not None:
        raise ValueError(f"there is a job type {job_type}")


def _check_family(family: str, paths: Iterable[Path]) -> None:
    """Refuse a family whose files would stand in the place of a package, or of a module that is no family's."""
    for path in paths:
        if path.with_suffix("").is_dir():
            raise ValueError(f"F={family}: {path.with_suffix('')} is a package, and no family")
        if path.parent.name == "payloads" and path.exists() and not _declares(path):
            raise ValueError(f"F={family}: {path} holds no payload class that names a job_type, and is no family's")


def _declares(path: Path) -> bool:
    """Whether a file of payloads declares a job type."""
    classes = [node for node in _parsed(path.read_text(encoding="utf-8"), path).body if isinstance(node, ast.ClassDef)]
    return any(fact.arg == "job_type" for node in classes for fact in node.keywords)


def _parsed(source: str, path: Path) -> ast.Module:
    """A file's syntax tree; raises `ValueError` with the file, the line and the reason."""
    try:
        compile(source, path, "exec")
        return ast.parse(source)
    except SyntaxError as error:
        raise ValueError(f"{path}, line {error.lineno}: {error.msg}") from None


def _defined(tree: ast.Module) -> Iterator[str]:
    """The names that a file defines or imports at its top level."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)


def _with_part(path: Path, part: Part, words: dict[str, str]) -> str:
    """The file's text with the part's imports and code; a file that does not exist begins with its docstring.

    Raises `ValueError` for a name that the file has already, or that the part's own imports need.
    """
    opening = Template(f'"""{part.opening}"""\n').substitute(words)
    source = path.read_text(encoding="utf-8") if path.exists() else opening
    code = Template(part.code).substitute(words)
    wanted = [(Template(module).substitute(words), Template(name).substitute(words)) for module, name in part.imports]
    tree = _parsed(source, path)
    there = set(_imported(tree))
    missing = [(module, name) for module, name in wanted if (module, name) not in there]
    names, imported = set(_defined(tree)), {name for _, name in wanted}
    for name in _defined(_parsed(code, path)):
        if name in names:
            raise ValueError(f"{path} has the name {name} already")
        if name in imported:
            raise ValueError(f"{path}: {name} is the name of something that the scaffold imports")
    for _, name in missing:
        if name in names:
            raise ValueError(f"{path} has the name {name} already, which the scaffold imports from elsewhere")
    lines = source.splitlines()
    place = _after_imports(tree)
    imports = [f"from {module} import {name}" for module, name in missing]
    return "\n".join([*lines[:place], *imports, *lines[place:], "", code])


def _after_imports(tree: ast.Module) -> int:
    """How many lines a file's docstring and imports take."""
    heads = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    last = heads[-1] if heads else tree.body[0]
    return last.end_lineno or 0


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """What a file imports by `from`: module and name."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names if alias.asname is None)


def format_files(root: Path, files: Iterable[Path]) -> None:
    """Sort the imports and format, as `make format` does."""
    names = [str(path) for path in files]
    for command in (["check", "--quiet", "--select", "I", "--fix"], ["format", "--quiet"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, *names], cwd=root, check=True)  # noqa: S603 - our own linter


def main(arguments: list[str]) -> int:
    """Begin the job type that the command line names; returns the exit status."""
    family, name, system, *_ = [*arguments, "", "", ""]
    try:
        written = begin(ROOT, family, name, system)
    except ValueError as problem:
        sys.stderr.write(f"make new-job: {problem}\n")
        return 1
    for path in written:
        sys.stdout.write(f"written, to be filled in: {path.relative_to(ROOT)}\n")
    sys.stdout.write("then: make golden docs\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

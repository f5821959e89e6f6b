import re
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import packages_distributions, requires
from subprocess import CalledProcessError

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bench import __main__
from bench.contenders.peer_environments import LIST, Line, find_python, read_lines, reason_of
from bench.contenders.peer_settings import (
    DURABLE,
    DURABLE_PIPELINES,
    OTHERS,
    PIPELINE_CELERY,
    PLAIN_CELERY,
    SAFE_CELERY,
    UNSAFE_CELERY,
    WRITING_CELERY,
)
from bench.contests import drain
from tests.house.reading import ROOT

PLAIN = (PLAIN_CELERY, SAFE_CELERY, UNSAFE_CELERY, WRITING_CELERY, PIPELINE_CELERY)
KINDS = (*PLAIN, *DURABLE, *DURABLE_PIPELINES, *OTHERS)
PROMISED = {
    "drain_vs_celery",
    "drain_vs_celery_best_safe",
    "drain_vs_celery_unsafe",
    "drain_vs_best_durable",
    "drain_prefork_vs_celery",
    *(f"drain_vs_{peer}" for peer in ("pgqueuer", "oban", "dbos", "procrastinate", "chancy")),
    *(f"drain_vs_{peer}" for peer in ("dramatiq", "taskiq", "huey", "arq", "rq")),
}


def test_every_peer_has_a_pinned_environment_and_a_program() -> None:
    lines = {line.peer: line for line in read_lines(LIST.read_text())}
    assert set(lines) == {kind.name for kind in KINDS}
    for line in lines.values():
        assert all(re.fullmatch(r"[\w.-]+(\[[\w,]+\])?==[\w.]+", one) for one in line.requirements), line
        assert (LIST.parent.parent / "peers" / f"with_{line.peer}.py").exists()


def test_plain_celery_is_the_celery_that_we_run_on() -> None:
    lines = {line.peer: line for line in read_lines(LIST.read_text())}
    ours = dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    for kind in (WRITING_CELERY, PIPELINE_CELERY):
        assert pins_of(lines[kind.name]).items() <= ours.items()
    plain = pins_of(lines["celery"])
    assert {name: plain[name] for name in ("celery", "kombu", "hiredis")}.items() <= ours.items()


def test_what_the_mail_s_steps_import_is_installed_with_them() -> None:
    (line,) = (line for line in read_lines("x: $mail\n" + LIST.read_text()) if line.peer == "x")
    code = "import sys; before = set(sys.modules); import bench.peers.mail_steps; print(*sys.modules.keys() - before)"
    command = [sys.executable, "-c", code]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)  # noqa: S603  # our own program
    there = installed_with(line.requirements) | {"postroom"}
    packages = packages_distributions()
    for module in packages.keys() & set(told.stdout.split()):
        assert there & set(map(canonicalize_name, packages[module])), f"the line of $mail lacks {module}"


def installed_with(requirements: Iterable[str]) -> set[str]:
    """The packages that are installed for these requirements, and for what these require in turn."""
    waiting, found = [Requirement(one) for one in requirements], set[str]()
    while waiting:
        wanted = waiting.pop()
        found.add(canonicalize_name(wanted.name))
        for needed in map(Requirement, requires(wanted.name) or ()):
            markers = (
                [needed.marker.evaluate({"extra": extra}) for extra in ("", *wanted.extras)]
                if needed.marker
                else [True]
            )
            if any(markers) and canonicalize_name(needed.name) not in found:
                waiting.append(needed)
    return found


def pins_of(line: Line) -> dict[str, str]:
    """The versions that a peer's environment gets, by package."""
    return dict(re.findall(r"^([\w.-]+)(?:\[[\w,]+\])?==(\S+)$", "\n".join(line.requirements), re.MULTILINE))


def test_a_line_may_ask_for_a_newer_python() -> None:
    text = "# words\n\na: one==1 two==2\nb: python>=3.12 three==3\n"
    assert read_lines(text) == (Line("a", ("one==1", "two==2")), Line("b", ("three==3",), (3, 12)))


def test_a_line_may_take_over_what_another_lists() -> None:
    text = "$mail: one==1 two==2\na: three==3\nb: $a $mail\n"
    assert read_lines(text) == (Line("a", ("three==3",)), Line("b", ("three==3", "one==1", "two==2")))
    with pytest.raises(ValueError, match="b: there is no line 'c'"):
        read_lines("b: $c")


@pytest.mark.parametrize("row", ["only words", "a:", ": "])
def test_a_line_that_is_none_is_named(row: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(row))):
        read_lines(row)


def test_a_python_that_nobody_has_is_a_reason_to_leave_a_peer_out() -> None:
    with pytest.raises(LookupError, match=r"needs Python 9\.9 or newer"):
        find_python((9, 9))
    assert find_python((3, 11)).exists()


def test_the_reason_is_pip_s_last_error() -> None:
    output = "WARNING: slow mirror\nERROR: Could not find it\nERROR: No matching distribution\n[notice] newer pip\n"
    assert reason_of(CalledProcessError(1, ["pip"], stderr=output)) == "ERROR: No matching distribution"
    assert reason_of(LookupError("no such Python")) == "no such Python"


def test_every_setting_says_how_many_processes_run_jobs() -> None:
    for kind in KINDS:
        for setting in (*kind.drain, *filter(None, (kind.io_bound, kind.idle))):
            assert setting.ready >= len(setting.workers) >= 1
        labels = [setting.label for setting in kind.drain]
        assert len(labels) == len(set(labels)), f"{kind.name}: two settings look the same in the report"


def test_the_drains_have_the_promised_names_and_each_peer_its_own() -> None:
    names = [match.name for match in drain.comparisons()]
    assert len(names) == len(set(names))
    assert set(names) >= PROMISED
    known = set(drain.FAMILIES) | {"ours_threads", "ours_prefork"}
    assert {one for match in drain.comparisons() for one in (*match.ours, *match.peers)} <= known


def test_unsafe_celery_never_counts_as_safe() -> None:
    safe = {setting.environment["BENCH_ACK_EMULATION"] for setting in (*PLAIN_CELERY.drain, *SAFE_CELERY.drain)}
    assert safe == {"1"}
    assert {setting.environment["BENCH_ACK_EMULATION"] for setting in UNSAFE_CELERY.drain} == {"0"}
    for match in drain.comparisons():
        assert "celery_unsafe" not in match.peers or match.name == "drain_vs_celery_unsafe"


def test_the_command_line_has_every_size() -> None:
    asked = __main__.options().parse_args(["--only", "growth_*", "--jobs", "20", "--finished-rows", "1", "2"])
    assert (asked.only, asked.jobs, asked.rounds, asked.finished_rows) == (["growth_*"], 20, 3, [1, 2])

"""Our commands are in the command line of our app and of no other; `postroom` is the same, with completion."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.house.reading import ROOT
from tests.servers.python_processes import run_python, run_script

POSTROOM = str(Path(sys.executable).with_name("postroom"))
OURS = ("doctor", "jobs", "workflows")
SHOP = "from celery import Celery\n\napp = Celery('shop')\n"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder with other apps, one of them named as ours is: Celery's tutorial names its module so."""
    for name in ("shop", "tasks"):
        (tmp_path / f"{name}.py").write_text(SHOP)
    return tmp_path


def listed(help_text: str) -> set[str]:
    """The names of the commands that a help text lists."""
    lines = help_text.partition("\nCommands:\n")[2].splitlines()
    return {line.split()[0] for line in lines if line.startswith("  ") and line[2:3].strip()}


def postroom(*words: str, folder: Path = Path("/"), environment: Mapping[str, str] | None = None) -> tuple[int, str]:
    """What the program says, in a folder without any of our modules."""
    return run_script("postroom", *words, folder=folder, environment=environment)


def test_our_app_has_its_commands_beside_celery_s() -> None:
    status, said = run_python("celery", "-A", "tasks", "--help", folder=ROOT)
    assert status == 0
    assert listed(said) >= {*OURS, "worker", "beat", "inspect", "flower"}


@pytest.mark.parametrize("words", [("-A", "shop"), ("-A", "tasks"), ("-A", "shop:app"), ()])
def test_another_app_shows_none_of_them(shop: Path, words: tuple[str, ...]) -> None:
    status, said = run_python("celery", *words, "--help", folder=shop)
    assert status == 0
    assert listed(said) >= {"worker", "beat"}
    assert not listed(said) & {*OURS, "postroom"}


@pytest.mark.parametrize("words", [("-A", "shop"), ("-A", "tasks"), ()])
def test_another_app_does_none_of_them(shop: Path, words: tuple[str, ...]) -> None:
    status, said = run_python("celery", *words, "doctor", "--json", folder=shop)
    assert status == 2
    assert "No such command 'doctor'." in said


def test_celery_s_own_commands_run_for_another_app(shop: Path) -> None:
    status, said = run_python("celery", "-A", "shop", "report", folder=shop)
    assert (status, "software -> celery:" in said) == (0, True)


def test_a_misspelt_command_is_answered_with_a_like_one_of_ours() -> None:
    status, said = run_python("celery", "-A", "tasks", "docter", folder=ROOT)
    assert status == 2
    assert "No such command 'docter'." in said
    assert "\n    doctor" in said


def test_an_app_that_is_not_there_is_named(shop: Path) -> None:
    status, said = run_python("celery", "-A", "nowhere", "doctor", folder=shop)
    assert status == 2
    assert "The module nowhere was not found." in said
    assert run_python("celery", "-A", "nowhere", "--help", folder=shop)[0] == 0


LOOK = """
import sys
from celery.bin.celery import celery
try:
    celery.main(["-A", "tasks", *sys.argv[1:]], prog_name="celery")
finally:
    print("loaded:", "commands.doctor" in sys.modules)
"""


@pytest.mark.parametrize("words", [["worker", "--help"], ["doctor", "--help"]])
def test_a_worker_loads_no_sub_command(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "look.py").write_text(LOOK)
    status, said = run_python("look", *words, folder=ROOT, environment={"PYTHONPATH": str(tmp_path)})
    assert (status, said.splitlines()[-1]) == (0, f"loaded: {words[0] == 'doctor'}")


def test_postroom_has_the_commands_of_our_app() -> None:
    by_celery = run_python("celery", "-A", "tasks", "--help", folder=ROOT)[1]
    status, said = postroom("--help")
    assert (status, listed(said)) == (0, listed(by_celery))


def test_postroom_runs_ours_and_celery_s() -> None:
    ours, theirs = postroom("jobs", "list", "--help"), postroom("worker", "--help")
    assert ours[1].startswith("Usage: postroom jobs list ")
    assert theirs[1].startswith("Usage: postroom worker ")
    status, said = postroom("docter")
    assert (status, "doctor" in said) == (2, True)


def test_postroom_takes_the_installed_app_in_any_folder(shop: Path) -> None:
    _, said = postroom("report", folder=shop)
    assert "worker_consumer: 'engine.worker.consumer:FleetConsumer'" in said


COMPLETED: Mapping[str, Mapping[str, str]] = {
    "bash": {"COMP_WORDS": "postroom doc", "COMP_CWORD": "1"},
    "zsh": {"COMP_WORDS": "postroom doc", "COMP_CWORD": "1"},
    "fish": {"COMP_WORDS": "postroom doc", "COMP_CWORD": "doc"},
}
"""How each shell asks for the words that may follow; click has written its function."""

PAGE = (ROOT / "docs/howto/use-the-command-line.md").read_text()
LINES = dict(re.findall(r"^\| (\w+)[^|]*\| `(.+?)` \| `~", PAGE, re.MULTILINE))
"""By each shell the line that the page gives to it."""


@pytest.mark.parametrize("shell", COMPLETED)
def test_a_command_is_completed(shell: str) -> None:
    _, said = postroom(environment={"_POSTROOM_COMPLETE": f"{shell}_complete", **COMPLETED[shell]})
    assert "doctor" in said.replace(",", "\n").split()
    assert "jobs" not in said


@pytest.mark.parametrize("shell", COMPLETED)
def test_a_shell_is_given_a_function_that_asks_postroom(shell: str) -> None:
    assert f"_POSTROOM_COMPLETE={shell}_source postroom" in LINES[shell]
    status, said = postroom(environment={"_POSTROOM_COMPLETE": f"{shell}_source"})
    assert (status, f"_POSTROOM_COMPLETE={shell}_complete" in said) == (0, True)


def test_bash_completes_the_commands_of_a_group() -> None:
    script = f"""
{LINES["bash"]}
COMP_WORDS=(postroom jobs re) COMP_CWORD=2
_postroom_completion postroom
echo "${{COMPREPLY[@]}}"
"""
    path = f"{Path(POSTROOM).parent}:{os.environ['PATH']}"
    done = subprocess.run(  # noqa: S603  # our own script
        ["bash", "-c", script],  # noqa: S607  # bash, wherever it is
        env={**os.environ, "PATH": path},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert set(done.stdout.split()) >= {"replay-plan", "retry"}, done.stderr
    assert all(word.startswith("re") for word in done.stdout.split())


def test_celery_completes_ours_for_our_app_alone(shop: Path) -> None:
    for folder, found in ((ROOT, ["plain,doctor"]), (shop, [])):
        environment = {"_CELERY_COMPLETE": "bash_complete", "COMP_WORDS": "celery -A tasks doc", "COMP_CWORD": "3"}
        _, said = run_script("celery", folder=folder, environment=environment)
        assert said.split() == found

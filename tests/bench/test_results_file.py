"""The contests, what a partial run keeps of earlier results, and the errors for an unknown name or a bad file."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bench import __main__, results_file
from bench.contenders.peer_environments import Environments
from bench.contest import Contest
from bench.setup import ContestGroup, Setup, Sizes
from bench.stores import Stores
from sandbox.demo.endings import alone_in
from tests.bench.test_peer_settings import PROMISED

KNOWN = results_file.known_names(__main__.GROUPS, Sizes())


def group(ours: float, names: Sequence[str] = ("one", "two"), fails_at: str = "") -> ContestGroup:
    """Contests that need no peers and no time; all that were asked for up to one that fails."""

    def run_contests(setup: Setup) -> Iterator[Contest]:
        for name in filter(setup.wants, names):
            if name == fails_at:
                raise RuntimeError("a bad day")
            yield Contest(name, (ours,) * setup.sizes.rounds, (1.0,))

    return ContestGroup(f"group of {names[0]}", lambda _: names, run_contests)


def run(stores: Stores, folder: Path, *groups: ContestGroup, only: Sequence[str] = (), rounds: int = 3) -> Setup:
    setup = Setup(folder, stores, Environments({}, {}, {}), Sizes(rounds=rounds), only, print_line=lambda _: None)
    __main__.run_all(setup, groups, whole=not only)
    return setup


def ours(folder: Path) -> dict[str, Any]:
    return {name: result["ours"] for name, result in json.loads((folder / "results.json").read_text()).items()}


def test_there_is_no_contest_twice_and_all_that_were_promised() -> None:
    assert len(KNOWN) == len(set(KNOWN))
    families = {"enqueue_many_vs_apply_async", "enqueue_one_vs_apply_async", "idle_latency_p99_ms", "io_bound_vs_ideal"}
    sized = {"growth_1m_finished", "growth_10m_finished", "growth_1m_scheduled", "drain_vs_oban_20k"}
    waited_for = {"pipeline_vs_plain_celery", "drain_mix_vs_celery", "drain_mix_writes_vs_celery"}
    single = {"memory_worker_mib_growth", "fan_out_100k_accounts_s", "limit_claim_and_settle"}
    assert set(KNOWN) >= PROMISED | families | sized | waited_for | single


def test_a_second_run_waits_for_nobody_and_leaves_the_first_its_servers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    servers = tmp_path / "bench" / "servers"
    servers.mkdir(parents=True)
    with alone_in(tmp_path / "bench"):
        assert __main__.main(["--only", "drain_vs_celery"], tmp_path / "bench") == 1
    assert servers.is_dir()
    assert "another run works in" in capsys.readouterr().out


@pytest.mark.parametrize("word", ["drain_vs_celeri", "growth_5m_finished", "drain_vz*", "io_bound", ""])
def test_a_name_that_no_contest_has_ends_the_program_with_all_names(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        __main__.read_command_line(["--only", "drain_vs_celery", word])
    assert ended.value.code == 2
    message = capsys.readouterr().err
    assert f"no contest {word!r}" in message
    assert all(name in message.split() for name in KNOWN)


@pytest.mark.parametrize("word", ["drain_*", "growth_1m_finished", "enqueue_many_vs_oban"])
def test_a_known_name_or_pattern_passes(word: str, stores: Stores, tmp_path: Path) -> None:
    asked, sizes = __main__.read_command_line(["--only", word, "--rounds", "1"])
    assert (asked.only, sizes.rounds) == ([word], 1)
    setup = Setup(tmp_path, stores, Environments({}, {}, {}), sizes, asked.only)
    assert [one for one in __main__.GROUPS if one.wanted(setup)], "nothing would run"


def test_names_follow_the_sizes_that_were_asked_for() -> None:
    words = ["--finished-rows", "10", "5000000", "--jobs", "100", "--only"]
    asked, _ = __main__.read_command_line([*words, "growth_5m_finished"])
    assert asked.only == ["growth_5m_finished"]
    with pytest.raises(SystemExit):
        __main__.read_command_line([*words, "drain_vs_oban_20k"])


def test_a_run_of_some_replaces_what_it_ran_and_keeps_the_others(stores: Stores, tmp_path: Path) -> None:
    run(stores, tmp_path, group(1.0), group(1.0, ("three",)))
    before = json.loads((tmp_path / "results.json").read_text())
    run(stores, tmp_path, group(2.0), group(2.0, ("three",)), only=["two"], rounds=1)
    after = json.loads((tmp_path / "results.json").read_text())
    assert ours(tmp_path) == {"one": 1.0, "two": 2.0, "three": 1.0}
    assert list(after) == ["one", "two", "three"]
    assert {name: after[name] for name in ("one", "three")} == {name: before[name] for name in ("one", "three")}
    assert {name: result["measured"]["rounds"] for name, result in after.items()} == {"one": 3, "two": 1, "three": 3}
    assert set(after["two"]) >= {"ours", "peer", "ratio", "min", "max"}
    machine = json.loads((tmp_path / "machine.json").read_text())
    for result in after.values():
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", result["measured"]["at"])
        assert {key: result["measured"][key] for key in ("machine", "processor", "cores")} == {
            key: machine[key] for key in ("machine", "processor", "cores")
        }


def test_what_was_asked_for_and_fails_keeps_its_earlier_result_and_is_reported(stores: Stores, tmp_path: Path) -> None:
    run(stores, tmp_path, group(1.0))
    setup = run(stores, tmp_path, group(2.0, fails_at="two"), only=["one", "two"])
    assert ours(tmp_path) == {"one": 2.0, "two": 1.0}
    assert setup.skipped == {"two": "not run: RuntimeError: a bad day"}


def test_a_whole_run_leaves_nothing_of_earlier_ones_once_it_has_ended(stores: Stores, tmp_path: Path) -> None:
    run(stores, tmp_path, group(1.0), group(1.0, ("gone",)))
    seen: list[dict[str, Any]] = []

    def watch(setup: Setup) -> Iterator[Contest]:
        seen.append(ours(setup.folder))
        yield from ()

    watching = ContestGroup("watch", lambda _: ["watch"], watch)
    setup = run(stores, tmp_path, group(2.0), watching)
    assert seen == [{"one": 2.0, "two": 2.0, "gone": 1.0}], "a run that is stopped loses what it did not come to"
    assert ours(tmp_path) == {"one": 2.0, "two": 2.0}
    assert setup.skipped == {"watch": "not run: one side did not run"}


@pytest.mark.parametrize("text", ["{", "[]", '{"one": 1}'])
def test_a_file_of_something_else_is_named_before_anything_runs(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "results.json").write_text(text)
    with pytest.raises(SystemExit):
        __main__.read_command_line([], tmp_path)
    assert f"{tmp_path / 'results.json'} cannot be read" in capsys.readouterr().err
    assert (tmp_path / "results.json").read_text() == text

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from bench import chart
from bench.contest import Contest, Target

MACHINE: dict[str, Any] = {
    "at": "2026-11-22T10:00:00+00:00",
    "processor": "A & B <C>",
    "cores": 2,
    "python": "3.11",
    "servers": {"postgresql": "18", "valkey": "9"},
    "sizes": {"rounds": 3},
}

PIPELINE: dict[str, object] = {
    "ours_setting": "2 processes of 4 threads",
    "peer_setting": "celery (2 x threads)",
}


def drains(ours: float = 100.0) -> dict[str, dict[str, object]]:
    facts: dict[str, object] = {"jobs": 60_000, "ours_setting": "2 processes"}
    target = (Target("ratio", "at least", 10),)
    contests = [
        Contest("drain_vs_celery", (ours,), (10.0,), targets=target, facts=facts | {"peer_setting": "celery (x)"}),
        Contest("drain_vs_oban", (ours,), (50.0,), facts=facts | {"peer_setting": "oban (y)"}),
        Contest("drain_vs_oban_20k", (ours,), (900.0,), facts=facts | {"peer_setting": "oban (small)"}),
    ]
    return {contest.name: contest.result() for contest in contests}


def texts(picture: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(picture).iter() if element.tag.endswith("text")]  # noqa: S314  # our own picture


def caption(picture: str) -> str:
    """The lines below the panels, as one."""
    small = (one for one in ET.fromstring(picture).iter() if one.get("class") == "small")  # noqa: S314  # our own picture
    return " ".join(element.text or "" for element in small)


def test_no_text_reaches_beyond_the_picture() -> None:
    long = {"ours_setting": "2 processes of 4 threads, and a setting with a long name", "jobs": 60_000}
    contest = Contest("drain_prefork_vs_celery", (23_230.0,), targets=(Target("ours", "at least", 20_000),), facts=long)
    picture = ET.fromstring(chart.render({contest.name: contest.result()}, MACHINE))  # noqa: S314  # our own picture
    width = int(picture.attrib["viewBox"].split()[2])
    ends = {
        one.text: int(one.attrib["x"]) + len(one.text or "") * (6 if one.get("class") == "small" else 7)
        for one in picture.iter()
        if one.tag.endswith("text")
    }
    assert any("…" in (text or "") for text in ends) is False
    assert {text: end for text, end in ends.items() if end > width} == {}


def test_ours_stands_once_beside_every_peer_fastest_first() -> None:
    bars = list(chart.rate_bars("drain_", drains()))
    assert [bar.label for bar in bars] == ["Postroom: 2 processes", "oban (y)", "celery (x)"]
    assert [bar.share for bar in bars] == [1.0, 0.5, 0.1]
    assert [bar.kind for bar in bars] == ["ours", "peer", "peer"]


@pytest.mark.parametrize(("ours", "share", "kind"), [(100.0, 0.5, "ours"), (50.0, 0.3333, "short"), (1e9, 1.0, "ours")])
def test_a_target_is_the_middle_of_its_bar_and_one_missed_is_seen(ours: float, share: float, kind: str) -> None:
    (bar,) = chart.target_bars(drains(ours))
    assert (round(bar.share, 4), bar.kind) == (share, kind)


def test_less_is_better_where_the_target_is_a_limit() -> None:
    limit = (Target("ours", "at most", 10),)
    results = {"p50": Contest("p50", (5.0,), unit="ms", better="lower", targets=limit).result()}
    (bar,) = chart.target_bars(results)
    assert bar.share > 0.5
    assert bar.figures == "5.0 ms (at most 10)"


def test_the_picture_is_xml_for_light_and_dark_pages_with_machine_and_date() -> None:
    picture = chart.render(drains(), MACHINE)
    assert "prefers-color-scheme: dark" in picture
    assert "2026-11-22, A & B <C>" in caption(picture)
    said = texts(picture)
    assert "No-op jobs drained per second, backlog of 60,000" in said
    assert "10.0x (at least 10)" in said


def test_the_caption_tells_of_results_of_several_runs() -> None:
    here = {"at": "2026-11-20T10:00:00+00:00", "processor": MACHINE["processor"], "cores": 2, "rounds": 1}
    light, durable, _ = drains()
    results = drains() | {light: drains()[light] | {"measured": here}}
    said = caption(chart.render(results, MACHINE))
    assert said.startswith("2026-11-20 to 2026-11-22, A & B <C>, 2 cores")
    assert said.endswith("medians of 1 to 3 rounds in turns")
    strange = drains()[durable] | {"measured": here | {"cores": 64}}
    assert caption(chart.render(results | {durable: strange}, MACHINE)).endswith(
        "; 1 contests were held on another machine"
    )


def test_what_users_wait_for_stands_before_the_drains_and_all_else_after_them() -> None:
    ratio = (Target("ratio", "at least", 0.5),)
    of_cpu = (*ratio, Target("cpu_ratio", "at most", 2))
    others = [
        Contest("fan_out_100k_accounts_s", (3.0,), targets=(Target("ours", "at most", 5),)),
        Contest("idle_latency_p50_ms", (4.0,), (2.0,), better="lower", unit="ms", targets=ratio),
        Contest("drain_mix_vs_celery", (4.0,), (1.0,), targets=ratio, facts={"jobs": 18_000}),
        Contest("pipeline_vs_plain_celery", (30.0,), (40.0,), targets=of_cpu, facts=PIPELINE | {"cpu_ratio": 2.5}),
    ]
    results = drains() | {contest.name: contest.result() for contest in others}
    picture = chart.render(results, MACHINE)
    said = texts(picture)
    waited_for = [
        "pipeline_vs_plain_celery",
        "pipeline_vs_plain_celery: CPU",
        "drain_mix_vs_celery",
        "idle_latency_p50_ms",
    ]
    places = [
        said.index(one) for one in (*waited_for, "Postroom: 2 processes", "drain_vs_celery", "fan_out_100k_accounts_s")
    ]
    assert places == sorted(places)
    assert all(said.count(one) == 1 for one in waited_for)
    assert said[said.index("pipeline_vs_plain_celery: CPU") + 1] == "2.5x (at most 2)"
    short = [one for one in ET.fromstring(picture).iter() if one.get("class") == "short"]  # noqa: S314  # our own picture
    assert len(short) == 1, "2.5 times the CPU is missed, all else is kept"


def test_the_pipeline_s_rates_are_beside_one_another_with_what_a_message_takes() -> None:
    facts = PIPELINE | {"ours_cost": cost(18.0, 13.5), "peer_cost": cost(11.0, 4.04)}
    results = {
        "pipeline_vs_plain_celery": Contest("a", (30.0,), (60.0,), facts=PIPELINE).result(),
        "pipeline_vs_dbos": Contest("b", (30.0,), (120.0,), facts=facts | {"peer_setting": "dbos (x)"}).result(),
    }
    bars = list(chart.rate_bars("pipeline_", results))
    assert [(bar.label, bar.share, bar.figures) for bar in bars] == [
        ("dbos (x)", 1.0, "120/s, 15.0 ms of CPU"),
        ("celery (2 x threads)", 0.5, "60.0/s"),
        ("Postroom: 2 processes of 4 threads", 0.25, "30.0/s, 31.5 ms of CPU"),
    ]
    assert "Messages of the pipeline per second, and what each takes" in texts(chart.render(results, MACHINE))


def cost(worker_ms: float, postgres_ms: float) -> dict[str, float]:
    return {"worker_cpu_ms": worker_ms, "postgres_cpu_ms": postgres_ms}


def test_what_was_not_measured_is_not_drawn() -> None:
    picture = chart.render({}, MACHINE)
    assert " ".join(texts(picture)) == caption(picture)


def test_the_command_draws_from_the_files(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(json.dumps(drains()))
    (tmp_path / "machine.json").write_text(json.dumps(MACHINE))
    chart.main([str(tmp_path / "results.json"), str(tmp_path / "out.svg")])
    assert (tmp_path / "out.svg").read_text() == chart.render(drains(), MACHINE)


def test_the_last_column_says_what_was_not_kept() -> None:
    assert chart.describe_targets(drains(50.0)["drain_vs_celery"]) == "5.0x (at least 10): NOT kept"
    assert chart.describe_targets(drains()["drain_vs_oban"]) == ""

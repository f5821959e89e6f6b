"""What is shipped for Prometheus, Grafana and the supervisors names only metrics, checks and ports that exist."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from domain.jobs.monitoring.metrics import METRICS, MetricKind
from domain.jobs.queues import OLDEST_DUE_S, Queue
from domain.jobs.scheduling.ticks import LATE_AFTER
from tests.deployment import DEPLOY, WAYS, objects, read_yaml, services
from tests.house.reading import ROOT

PORT = 9464
ALERTS = read_yaml((DEPLOY / "prometheus" / "alerts.yaml").read_text())[0]
SCRAPE = read_yaml((DEPLOY / "prometheus" / "scrape.yaml").read_text())[0]
DASHBOARD = json.loads((DEPLOY / "grafana" / "postroom.json").read_text())
OBJECTIVES = (ROOT / "docs" / "howto" / "watch-the-fleet.md").read_text()
SUPERVISED = ("postroom-worker@", "postroom-beat@", "postroom-gateway")

GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left)\s*\([^)]*\)")
NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
FUNCTIONS = {"sum", "max", "min", "count", "rate", "increase", "histogram_quantile", "absent", "and"}


def sample_names() -> set[str]:
    """Every name that a scrape has."""
    histograms = [metric.name for metric in METRICS if metric.kind is MetricKind.HISTOGRAM]
    plain = {metric.name for metric in METRICS} - set(histograms)
    return plain | {f"{name}_{part}" for name in histograms for part in ("bucket", "sum", "count")}


def named(expression: str) -> set[str]:
    """The metrics that an expression of PromQL names."""
    bare = GROUPING.sub("", re.sub(r"\{[^}]*\}|\[[^\]]*\]", "", expression))
    return set(NAME.findall(bare)) - FUNCTIONS


def expressions() -> Iterator[str]:
    yield from (rule["expr"] for group in ALERTS["groups"] for rule in group["rules"])
    yield from (target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"])


EXPRESSIONS = tuple(expressions())


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_every_metric_that_is_watched_exists(expression: str) -> None:
    assert named(expression)
    assert named(expression) <= sample_names()


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_every_label_that_is_watched_exists(expression: str) -> None:
    labels = {label for metric in METRICS for label in metric.labels} | {"instance", "le"}
    grouped = {word for words in GROUPING.findall(expression) for word in NAME.findall(words)}
    grouped -= {"by", "on", "group_left"}
    matched = set(re.findall(r"(\w+)\s*(?:=~|!=|=)\s*\"", expression))
    assert grouped | matched <= labels


def test_an_invented_metric_is_found() -> None:
    assert named('sum by (queue) (rate(jobs_lost_total{queue="x"}[5m])) > 0.1') == {"jobs_lost_total"}
    assert "jobs_lost_total" not in sample_names()


def test_every_metric_of_the_fleet_is_on_the_dashboard() -> None:
    shown = set().union(*(named(target["expr"]) for panel in DASHBOARD["panels"] for target in panel["targets"]))
    left_out = {m.name for m in METRICS if not any(name.startswith(m.name) for name in shown)}
    assert left_out == set()


def test_every_queue_has_an_objective_and_the_page_says_the_same() -> None:
    rules = [rule for group in ALERTS["groups"] for rule in group["rules"] if "oldest_job_age" in rule["expr"]]
    pattern = re.compile(r'queue="(\w+)"}\) > (\d+)')
    asked = {found[1]: (found[2], rule["for"]) for rule in rules if (found := pattern.search(rule["expr"]))}
    assert set(asked) == {queue.value for queue in Queue}
    for queue, (seconds, span) in asked.items():
        assert f"| `{queue}` | {seconds} | {span} |" in OBJECTIVES
        assert OLDEST_DUE_S[Queue(queue)] == int(seconds)


def test_prometheus_scrapes_every_process_of_compose() -> None:
    [job] = SCRAPE["scrape_configs"]
    targets = set(job["static_configs"][0]["targets"])
    ours = {name for name, one in services().items() if one["image"] == "postroom"} - {"migrate", "flower"}
    assert targets == {f"{name}:{PORT}" for name in ours}


def test_compose_asks_each_worker_and_beat_for_its_health() -> None:
    for name, one in services().items():
        if name.startswith(("worker-", "beat-")):
            assert f"127.0.0.1:{PORT}/healthz" in one["healthcheck"]["test"][-1], name
            assert one["environment"]["POSTROOM_METRICS_PORT"] == str(PORT)


def test_kubernetes_asks_each_worker_and_beat_for_its_health() -> None:
    assert objects("ConfigMap")["postroom"]["data"]["POSTROOM_METRICS_PORT"] == str(PORT)
    for name, one in objects("Deployment").items():
        if name != "postroom-flower":
            template = one["spec"]["template"]
            container: dict[str, Any] = template["spec"]["containers"][0]
            ports = {port.get("name"): port["containerPort"] for port in container["ports"]}
            assert ports["metrics"] == PORT, name
            assert template["metadata"]["annotations"]["prometheus.io/port"] == str(PORT)
            probe = container["livenessProbe"]["httpGet"]
            assert (probe["path"], ports.get(probe["port"], probe["port"])) in {("/healthz", PORT), ("/healthz", 8000)}


def test_systemd_watches_each_worker_beat_and_gateway() -> None:
    assert "systemd" in WAYS
    for unit in SUPERVISED:
        text = (DEPLOY / "systemd" / f"{unit}.service").read_text()
        assert "NotifyAccess=main" in text
        assert re.search(r"^WatchdogSec=\d+$", text, re.MULTILINE), unit
        assert "Restart=always" in text


def test_the_alert_of_a_dead_beat_and_doctor_have_one_bound() -> None:
    (rule,) = [one for group in ALERTS["groups"] for one in group["rules"] if one["alert"] == "PostroomBeatSilent"]
    assert rule["expr"] == f"max(beat_tick_overdue_seconds) > {LATE_AFTER.total_seconds():.0f}"

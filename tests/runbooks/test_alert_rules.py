"""Each alert fires, and each keeps silent, by series that promtool plays; rules that are wrong would be found."""

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deployment import DEPLOY, read_yaml

FOLDER = DEPLOY / "prometheus"
RULES = [rule for group in read_yaml((FOLDER / "alerts.yaml").read_text())[0]["groups"] for rule in group["rules"]]
PLAYED = read_yaml((FOLDER / "alerts_test.yaml").read_text())[0]["tests"]
PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed: apt-get install prometheus")


def identity(alert: str, labels: Mapping[str, str]) -> tuple[str, str]:
    """By what a rule is known: its alert, and the queue where there is one rule for each."""
    return alert, labels.get("queue", "")


def promtool(*words: object) -> tuple[int, str]:
    done = subprocess.run([str(PROMTOOL), *map(str, words)], capture_output=True, text=True, check=False)  # noqa: S603  # our own files
    return done.returncode, done.stdout + done.stderr


def test_each_rule_is_played_until_it_fires_and_where_it_keeps_silent() -> None:
    rules = {identity(rule["alert"], rule["labels"]) for rule in RULES}
    assert len(rules) == len(RULES)
    asked = [one for test in PLAYED for one in test["alert_rule_test"]]
    fired = {identity(one["alertname"], alert["exp_labels"]) for one in asked for alert in one["exp_alerts"]}
    assert fired == rules
    assert {one["alertname"] for one in asked if not one["exp_alerts"]} == {alert for alert, _ in rules}


@needs_promtool
def test_the_rules_do_with_each_series_what_is_expected() -> None:
    status, said = promtool("check", "rules", "--lint-fatal", FOLDER / "alerts.yaml")
    assert status == 0, said
    status, said = promtool("test", "rules", FOLDER / "alerts_test.yaml")
    assert status == 0, said


@needs_promtool
@pytest.mark.parametrize("expression", ["vector(0) > 1", "vector(1)"], ids=["never", "always"])
def test_rules_that_never_fire_or_always_do_are_found(tmp_path: Path, expression: str) -> None:
    rules: list[dict[str, Any]] = [rule | {"expr": expression, "for": "0m"} for rule in RULES]
    (tmp_path / "alerts.yaml").write_text(yaml.safe_dump({"groups": [{"name": "postroom", "rules": rules}]}))
    shutil.copy(FOLDER / "alerts_test.yaml", tmp_path)
    status, said = promtool("test", "rules", tmp_path / "alerts_test.yaml")
    assert status == 1
    assert set(re.findall(r"alertname: (\w+)", said)) == {rule["alert"] for rule in RULES}

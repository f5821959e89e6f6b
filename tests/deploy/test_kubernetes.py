"""The Kubernetes objects as kustomize makes them: each fits its schema, and all keep the fleet's policies."""

import json
import re
from collections.abc import Iterator
from typing import Any

import kubernetes_validate
import pytest
from cloudcoil.models.keda.v1alpha1 import ScaledObject, TriggerAuthentication
from jsonschema import Draft202012Validator
from jsonschema import ValidationError as Misfit
from pydantic import ValidationError

from gateway.__main__ import GRACE_S
from settings import PREFIX, Settings
from tests.deployment import DEPLOY, documents, objects

KEDA = {"ScaledObject": ScaledObject, "TriggerAuthentication": TriggerAuthentication}
KUBERNETES = "1.37.0"
OURS = {"app.kubernetes.io/part-of": "postroom"}
OPEN_PORTS = {"postroom-gateway": "http"}
"""Whom everybody may reach."""
NEEDED = {
    "POSTROOM_LEDGER_DATABASE_URL": "postgresql://postroom_ledger:a-password@db/postroom",
    "POSTROOM_BROKER_URL": "rediss://:a-password@broker:6379/0",
    "POSTROOM_SEALING_KEYS": "a long random text",
    "POSTROOM_ARTIFACTS_URL": "s3://a-bucket/artifacts",
}
"""What every process needs, as an operator might fill it in."""

Object = dict[str, Any]


def check(one: Object) -> None:
    """Raise for an object that its API would refuse, and for a field that it would drop."""
    if one["kind"] in KEDA:
        Draft202012Validator(closed(KEDA[one["kind"]].model_json_schema())).validate(one)
    else:
        kubernetes_validate.validate(one, KUBERNETES, strict=True)


def closed(schema: Any) -> Any:  # noqa: ANN401 - a schema
    """A schema whose objects take no field that it does not name."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: closed(each) for name, each in schema.items()}
    return found | ({"additionalProperties": False} if "properties" in schema else {})


def pods() -> Iterator[tuple[str, Object]]:
    """The pods of ours with their names."""
    for name, one in (objects("Deployment") | objects("Job")).items():
        yield name, one["spec"]["template"]


def fits(selector: Object, labels: Object) -> bool:
    wanted: Object = selector.get("matchLabels", {})
    return wanted.items() <= labels.items()


def mebibytes(text: str) -> int:
    number, unit = int(text[:-2]), text[-2:]
    return number * {"Mi": 1, "Gi": 1024}[unit]


def test_every_object_fits_its_schema() -> None:
    found = documents()
    assert {"Deployment", "Job", "ScaledObject", "PodDisruptionBudget", "NetworkPolicy"} <= {
        one["kind"] for one in found
    }
    for one in found:
        check(one)


@pytest.mark.parametrize(
    ("kind", "path"),
    [("Deployment", "spec.template.spec.terminationGraceSeconds"), ("ScaledObject", "spec.advanced.restoreReplicas")],
)
def test_a_misspelt_field_would_be_found(kind: str, path: str) -> None:
    one = json.loads(json.dumps(next(iter(objects(kind).values()))))
    inside = one
    *folders, name = path.split(".")
    for folder in folders:
        inside = inside[folder]
    inside[name] = 1
    with pytest.raises(Misfit):
        check(one)


def test_no_pod_has_a_right_or_writes_to_its_root() -> None:
    for name, pod in pods():
        spec = pod["spec"]
        assert spec["automountServiceAccountToken"] is False, name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        for container in spec["containers"]:
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] is True, name
            assert context["allowPrivilegeEscalation"] is False, name
            assert context["capabilities"] == {"drop": ["ALL"]}, name


def test_every_pod_has_a_limit_of_memory_and_is_spread_over_nodes() -> None:
    for name, pod in pods():
        (container,) = pod["spec"]["containers"]
        resources = container["resources"]
        assert mebibytes(resources["limits"]["memory"]) > mebibytes(resources["requests"]["memory"]), name
        assert "cpu" not in resources["limits"], f"{name}: a limit of CPU makes leases late"
        (spread,) = pod["spec"]["topologySpreadConstraints"]
        assert spread["topologyKey"] == "kubernetes.io/hostname"
        assert fits(spread["labelSelector"], pod["metadata"]["labels"]), name
        assert "app" in spread["matchLabelKeys"], f"{name}: all processes would count as one"


def test_nodes_can_be_emptied_and_a_gateway_stays() -> None:
    budgets = objects("PodDisruptionBudget")
    least = {
        one["spec"]["scaleTargetRef"]["name"]: one["spec"]["minReplicaCount"]
        for one in objects("ScaledObject").values()
    }
    for name, one in objects("Deployment").items():
        if name == "postroom-flower":
            continue
        budget = budgets.pop(name)["spec"]
        assert fits(budget["selector"], one["spec"]["template"]["metadata"]["labels"]), name
        copies = one["spec"].get("replicas", least.get(name, 0))
        may_go = budget.get("maxUnavailable", copies - budget.get("minAvailable", 0))
        assert may_go >= 1, f"{name} would keep a node from being emptied"
    assert budgets == {}
    assert objects("PodDisruptionBudget")["postroom-gateway"]["spec"]["minAvailable"] == 1


def test_only_the_gateway_is_open_and_every_named_port_exists() -> None:
    policies = [one["spec"] for one in objects("NetworkPolicy").values()]
    open_to_all = {}
    for name, pod in pods():
        labels = pod["metadata"]["labels"]
        of_pod = [one for one in policies if fits(one["podSelector"], labels)]
        assert any(set(one["policyTypes"]) == {"Ingress", "Egress"} for one in of_pod), f"{name} has no policy"
        rules = [rule for one in of_pod for rule in one.get("ingress", [])]
        for rule in rules:
            if "from" not in rule:
                open_to_all[name] = rule["ports"][0]["port"]
    assert open_to_all == OPEN_PORTS
    ports = {port["name"] for _, pod in pods() for each in pod["spec"]["containers"] for port in each.get("ports", [])}
    named = {port["port"] for one in policies for rule in one.get("ingress", []) for port in rule["ports"]}
    assert named <= ports


def test_every_pod_reaches_the_world_and_the_pods_but_no_metadata_service() -> None:
    """Cilium's blocks of addresses hold no pod (cilium/cilium#9209): without a selector of pods no DNS is reached."""
    policies = [one["spec"] for one in objects("NetworkPolicy").values()]
    for name, pod in pods():
        of_pod = [one for one in policies if fits(one["podSelector"], pod["metadata"]["labels"])]
        (rule,) = [rule for one in of_pod for rule in one.get("egress", [])]
        assert set(rule) == {"to"}, f"{name}: a port would be closed"
        blocks = {peer["ipBlock"]["cidr"]: peer["ipBlock"]["except"] for peer in rule["to"] if "ipBlock" in peer}
        assert blocks == {"0.0.0.0/0": ["169.254.169.254/32"], "::/0": ["fd00:ec2::254/128"]}, name
        assert {"namespaceSelector": {}} in rule["to"], f"{name} reaches no pod on Cilium, so no DNS"


def test_a_gateway_that_ends_takes_connections_until_nobody_sends_any() -> None:
    """Uvicorn closes its port at TERM, while nodes still send connections there."""
    spec = objects("Deployment")["postroom-gateway"]["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    pause_s = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert pause_s >= 5
    assert spec["terminationGracePeriodSeconds"] > pause_s + GRACE_S


def test_the_fleet_starts_with_what_the_secret_marks_as_needed_alone() -> None:
    text = (DEPLOY / "kubernetes" / "secret.example.yaml").read_text()
    assert re.findall(r"# Needed: .+\n +(\w+):", text) == list(NEEDED)
    secret = objects("Secret")["postroom"]["stringData"]
    given = {**objects("ConfigMap")["postroom"]["data"], **secret, **NEEDED}
    by_field = {name.removeprefix(PREFIX).lower(): value for name, value in given.items()}
    assert Settings.model_validate(by_field).environment == "production"
    with pytest.raises(ValidationError, match="artifacts_url"):
        Settings.model_validate(by_field | {"artifacts_url": ""})


def test_workers_become_fewer_slowly_and_stay_when_the_database_is_silent() -> None:
    for name, one in objects("ScaledObject").items():
        spec = one["spec"]
        down = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]["scaleDown"]
        assert down["stabilizationWindowSeconds"] == 300, name
        assert down["policies"] == [{"type": "Pods", "value": 1, "periodSeconds": 60}], name
        assert spec["minReplicaCount"] >= 1, name
        assert "fallback" not in spec, f"{name}: a queue of many workers would fall to it where KEDA alone has no login"


def test_no_more_jobs_are_counted_than_all_replicas_could_need() -> None:
    for name, one in objects("ScaledObject").items():
        (trigger,) = one["spec"]["triggers"]
        most = one["spec"]["maxReplicaCount"] * int(trigger["metadata"]["targetQueryValue"])
        queue = name.removeprefix("postroom-worker-")
        assert trigger["metadata"]["query"] == f"select postroom.queue_depth('{queue}', {most})"
        assert trigger["authenticationRef"]["name"] in objects("TriggerAuthentication")


def test_what_scales_has_a_login_that_may_count_and_nothing_else() -> None:
    (authentication,) = objects("TriggerAuthentication").values()
    keys = {(one["name"], one["key"]) for one in authentication["spec"]["secretTargetRef"]}
    assert keys == {("postroom-watch", "POSTROOM_WATCH_DATABASE_URL")}


def test_every_secret_and_setting_that_a_pod_takes_exists() -> None:
    secrets, settings = objects("Secret"), objects("ConfigMap")
    for name, pod in pods():
        for container in pod["spec"]["containers"]:
            for source in container["envFrom"]:
                assert source.get("secretRef", {"name": "postroom"})["name"] in secrets, name
                assert source.get("configMapRef", {"name": "postroom"})["name"] in settings, name
            for one in container.get("env", []):
                if "valueFrom" in one:
                    key = one["valueFrom"]["secretKeyRef"]
                    assert key["key"] in secrets[key["name"]]["stringData"], name


def test_all_run_one_image_that_is_no_latest() -> None:
    images = {container["image"] for _, pod in pods() for container in pod["spec"]["containers"]}
    assert len(images) == 1
    assert not images.pop().endswith((":latest", "postroom"))

"""Files in deploy/ are what those who read them expect: Kubernetes, Compose, systemd, the gateway itself."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from patience import PATIENCE_S
from thinkcap.gateway.config import ServeConfig

DEPLOY = Path(__file__).parents[2] / "deploy"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
VERSIONS = ("1.29", "1.37")


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


BY_KIND = {loaded(path)["kind"]: loaded(path) for path in MANIFESTS}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_manifests_fit_the_schemas_of_kubernetes(path: Path, version: str) -> None:
    import kubernetes_validate  # here, since its schemas take seconds to load

    kubernetes_validate.validate(loaded(path), version, strict=True)


def test_a_mistake_in_a_manifest_would_be_seen() -> None:
    import kubernetes_validate

    wrong = loaded(DEPLOY / "kubernetes" / "deployment.yaml")
    wrong["spec"]["template"]["spec"]["containers"][0]["readinessProb"] = {}
    with pytest.raises(kubernetes_validate.ValidationError, match="readinessProb"):
        kubernetes_validate.validate(wrong, VERSIONS[-1], strict=True)


def test_manifests_speak_of_one_gateway() -> None:
    deployment, service = BY_KIND["Deployment"], BY_KIND["Service"]
    pod = deployment["spec"]["template"]
    labels = pod["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"] == labels
    assert service["spec"]["selector"] == labels
    assert BY_KIND["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    assert BY_KIND["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
    assert (
        BY_KIND["HorizontalPodAutoscaler"]["spec"]["minReplicas"]
        > (BY_KIND["PodDisruptionBudget"]["spec"]["minAvailable"])
    )
    (container,) = pod["spec"]["containers"]
    assert service["spec"]["ports"][0]["targetPort"] in [port["name"] for port in container["ports"]]
    assert pod["spec"]["volumes"][0]["configMap"]["name"] == BY_KIND["ConfigMap"]["metadata"]["name"]


def test_the_settings_in_the_manifests_are_settings_and_let_nobody_in() -> None:
    config = ServeConfig.from_mapping(tomllib.loads(BY_KIND["ConfigMap"]["data"]["serve.toml"]))
    pod = BY_KIND["Deployment"]["spec"]["template"]["spec"]
    assert config.port == pod["containers"][0]["ports"][0]["containerPort"]
    assert pod["terminationGracePeriodSeconds"] > config.drain_s + 5
    assert list(config.keys) == ["nobody"]
    assert not config.anyone


def test_the_compose_file_fits_the_compose_specification() -> None:
    # Its schema alone: the command beside it takes 3 s to start.
    schema = json.loads(
        (files("check_jsonschema.builtin_schemas.vendor") / "compose-spec.json").read_text("utf-8")
    )
    compose = loaded(DEPLOY / "compose.yaml")
    jsonschema_rs.validate(schema, compose)
    compose["services"]["gateway"]["port"] = 8080
    with pytest.raises(jsonschema_rs.ValidationError, match="'port'"):
        jsonschema_rs.validate(schema, compose)


def test_the_compose_file_names_files_that_are_there_and_opens_no_port_to_others() -> None:
    services = loaded(DEPLOY / "compose.yaml")["services"]
    sources = [mount.split(":")[0] for one in services.values() for mount in one.get("volumes", ())]
    ours = [source for source in sources if source.startswith(".")]
    assert len(ours) == 5
    assert [source for source in ours if not (DEPLOY / source).exists()] == []
    assert (DEPLOY.parent / services["gateway"]["build"]["dockerfile"]).exists()
    ports = [port for one in services.values() for port in one["ports"]]
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []


def test_the_compose_files_settings_let_prometheus_in_by_its_name() -> None:
    config = ServeConfig.from_file(DEPLOY / "compose.toml")
    assert config.anyone
    (job,) = loaded(DEPLOY / "prometheus" / "prometheus.yaml")["scrape_configs"]
    (target,) = job["static_configs"][0]["targets"]
    assert target in [f"{host}:{config.port}" for host in config.hosts]


def test_the_image_starts_what_the_command_line_knows() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    assert 'ENTRYPOINT ["thinkcap", "serve"]' in text
    extras = re.findall(r"\[([a-z,]+)\]", text)[0].split(",")
    known = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(extras) <= known.keys()


def test_the_unit_pauses_between_restarts_longer_than_systemd_counts() -> None:
    """Five starts within 10 s, and systemd gives up for good."""
    found = re.search(r"^RestartSec=(\d+)$", (DEPLOY / "thinkcap.service").read_text(), re.MULTILINE)
    assert found
    assert int(found[1]) * 5 > 10


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_systemd_reads_the_unit(tmp_path: Path) -> None:
    # As installed, but for the program, which is not at its place here.
    unit = tmp_path / "thinkcap.service"
    text = (DEPLOY / "thinkcap.service").read_text()
    unit.write_text(text.replace("/opt/thinkcap/bin/thinkcap serve", f"{shutil.which('true')} serve"))
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=PATIENCE_S)
    said = [line for line in done.stderr.splitlines() if str(unit) in line or "thinkcap.service" in line]
    assert said == []

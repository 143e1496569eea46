"""Validates the Kubernetes manifests, and what a schema cannot say about them."""

import pathlib
import sys

import kubernetes_validate
import yaml

DEPLOY = pathlib.Path("deploy")
VERSIONS = ["1.30", "1.36"]


def drain_seconds():
    """`drain` in the configuration that is deployed."""
    import tomllib

    config = tomllib.loads((DEPLOY / "majordomo.toml").read_text())
    return int(config["server"]["drain"].removesuffix("s"))


def check_deployment(deployment):
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    pause = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    grace = pod["terminationGracePeriodSeconds"]
    assert grace > pause + drain_seconds(), "the grace is shorter than the drain"
    for probe in ["readinessProbe", "livenessProbe", "startupProbe"]:
        assert probe in container, f"there is no {probe}"
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    for variable in container.get("env", []):
        assert "value" not in variable, f"{variable['name']} is written out"
    assert container["envFrom"] == [{"secretRef": {"name": "majordomo"}}]


def main():
    kinds = []
    for file in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        for document in yaml.safe_load_all(file.read_text()):
            for version in VERSIONS:
                kubernetes_validate.validate(document, version, strict=True)
            kinds.append(document["kind"])
            if document["kind"] == "Deployment":
                check_deployment(document)
    assert sorted(kinds) == ["Deployment", "PodDisruptionBudget", "Service", "Service"], kinds
    print(f"{len(kinds)} manifests are valid for Kubernetes {' and '.join(VERSIONS)}")


sys.exit(main())

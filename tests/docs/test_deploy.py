"""The examples of a deployment: well formed, and as careful as the guide says. None of it is run here."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from engram.config import BY_NAME
from engram.surfaces.server import serve

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
DEMO: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.demo.yaml").read_text())
OBJECTS: list[dict[str, Any]] = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
OURS = ("migrate", "engram")
SECRETS = {"ENGRAM_OIDC_SECRET", "ENGRAM_INDEX_KEY", "ENGRAM_EMBEDDER_KEY"}
OF_A_PERSON = {"snapshots", "project", "agent", "views", "staging", "default_branch", "keep_prompts",
               "network_store", "extractor_url", "extractor_model", "extractor_budget",
               "extractor_timeout"}  # fmt: skip
"""Settings that mean nothing to a server on a database."""


def kind(name: str) -> dict[str, Any]:
    return next(each for each in OBJECTS if each["kind"] == name)


def pods() -> list[dict[str, Any]]:
    return [kind(name)["spec"]["template"]["spec"] for name in ("Job", "Deployment")]


@pytest.mark.parametrize("name", OURS)
def test_a_service_of_ours_is_nobody_and_writes_to_its_own_place_only(name: str):
    service = COMPOSE["services"][name]

    assert service["user"].partition(":")[0] not in ("0", "root")
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert [each.partition(":")[2] for each in service["volumes"]] == ["/var/lib/engram"]


def test_the_server_waits_for_the_migration_and_the_migration_for_the_database():
    services = COMPOSE["services"]

    assert services["migrate"]["command"] == ["migrate"]
    assert services["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    assert services["engram"]["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}
    assert "/readyz" in str(services["engram"]["healthcheck"])


def test_the_database_has_more_memory_of_its_own_than_its_default_unless_told_otherwise():
    assert COMPOSE["services"]["postgres"]["command"] == [
        *("postgres", "-c", "shared_buffers=${POSTGRES_SHARED_BUFFERS:-512MB}")
    ]


def test_no_port_is_open_to_others_and_what_is_optional_is_asked_for():
    services = COMPOSE["services"]
    ports = [port for service in services.values() for port in service.get("ports", ())]

    assert ports == ["127.0.0.1:7437:7437"]
    assert DEMO["services"]["engram"] == {"ports": ["127.0.0.1:5556:5556"]}
    assert services["qdrant"]["profiles"] == ["qdrant"]
    assert set(COMPOSE["volumes"]) == {"records", "home", "vectors"}
    assert not re.search(r"(?i)password: *[\"']?[a-z0-9]", (DEPLOY / "compose.yaml").read_text())


def test_every_setting_and_word_of_the_examples_exists():
    said = {name for each in OURS for name in COMPOSE["services"][each]["environment"]}
    said |= {
        each["name"] for pod in pods() for each in pod["containers"][0]["env"] if each["name"] != "XDG_CONFIG_HOME"
    }
    settings = re.findall(r"^([a-z_]+) =", kind("ConfigMap")["data"]["engram.toml"], re.MULTILINE)
    words = [*COMPOSE["services"]["engram"]["command"], *pods()[1]["containers"][0]["args"]]

    assert {name.removeprefix("ENGRAM_").lower() for name in said - SECRETS} | set(settings) <= set(BY_NAME)
    assert {word for word in words if word.startswith("--")} <= {
        *serve.OPTIONS,
        *re.findall(r"--[a-z-]+", serve.run.__doc__ or ""),
    }


@pytest.mark.parametrize("name", OURS)
def test_every_setting_of_a_server_that_stands_in_the_file_beside_compose_reaches_it(name: str):
    passed = COMPOSE["services"][name]["environment"]
    wanted = {BY_NAME[each].variable for each in BY_NAME if each not in OF_A_PERSON} | SECRETS

    assert set(passed) == wanted
    named = {"ENGRAM_OIDC_ISSUER": "OIDC_ISSUER", "ENGRAM_OIDC_AUDIENCE": "OIDC_AUDIENCE",
             "ENGRAM_PUBLIC_URL": "PUBLIC_URL", "ENGRAM_STORE": "POSTGRES_PASSWORD"}  # fmt: skip
    assert {each for each in passed if f"${{{named.get(each, each)}:" not in passed[each]} == set()


def test_kubernetes_serves_and_migrates_as_the_users_that_the_guide_makes():
    guide = (ROOT / "docs" / "guides" / "deploy.md").read_text()
    stores = kind("Secret")["stringData"].items()
    users = {each: value.partition("://")[2].partition(":")[0] for each, value in stores}

    assert users == {"store": "engram_server", "migrating-store": "engram_owner"}
    assert all(f"CREATE ROLE {user} LOGIN" in guide for user in users.values())


def test_the_demo_provider_is_the_one_that_the_guide_names():
    dex = yaml.safe_load((DEPLOY / "dex.yaml").read_text())
    guide = (ROOT / "docs" / "guides" / "deploy.md").read_text()

    assert f"OIDC_ISSUER={dex['issuer']}" in guide
    assert f"OIDC_AUDIENCE={dex['staticClients'][0]['id']}" in guide
    assert all(person["email"].endswith("@example.org") for person in dex["staticPasswords"])


def test_kubernetes_runs_us_as_nobody_on_a_root_that_cannot_be_written():
    for pod in pods():
        (container,) = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] != 0
        assert pod["automountServiceAccountToken"] is False
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"]["limits"]["memory"]
        assert {each["name"] for each in container["volumeMounts"]} <= {each["name"] for each in pod["volumes"]}


def test_kubernetes_asks_whether_the_server_lives_and_is_ready():
    (container,) = kind("Deployment")["spec"]["template"]["spec"]["containers"]

    assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}
    assert kind("Job")["spec"]["template"]["spec"]["containers"][0]["args"] == ["migrate"]


def test_kubernetes_keeps_the_home_of_the_server_and_a_visitor_with_one_server():
    deployment = kind("Deployment")["spec"]
    (home,) = [each for each in deployment["template"]["spec"]["volumes"] if each["name"] == "home"]
    claim = kind("PersistentVolumeClaim")

    assert home["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    assert claim["spec"]["accessModes"] == ["ReadWriteOnce"]
    assert deployment["replicas"] == 1
    assert deployment["strategy"]["type"] == "Recreate"
    assert kind("Service")["spec"]["sessionAffinity"] == "ClientIP"


def test_kubernetes_objects_find_one_another():
    labels = kind("Deployment")["spec"]["template"]["metadata"]["labels"]

    assert kind("Deployment")["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert kind("Service")["spec"]["selector"].items() <= labels.items()
    keys = {
        ref["valueFrom"]["secretKeyRef"]["key"]
        for pod in pods()
        for c in pod["containers"]
        for ref in c["env"]
        if "valueFrom" in ref
    }
    assert keys == set(kind("Secret")["stringData"])
    assert {each["metadata"]["labels"]["step"] for each in OBJECTS} == {"settings", "migrate", "serve"}
    assert {each["metadata"].get("namespace", "engram") for each in OBJECTS} == {"engram"}


def test_the_container_ends_as_nobody_with_a_check_of_its_health():
    lines = re.sub(r"\\\n", " ", (DEPLOY / "Containerfile").read_text()).splitlines()
    steps = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    known = {"FROM", "COPY", "RUN", "ENV", "WORKDIR", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK",
             "ENTRYPOINT", "CMD"}  # fmt: skip

    assert {step[0] for step in steps} <= known
    assert [step[1] for step in steps if step[0] == "USER"] == ["10001:10001"]
    assert any(step[0] == "HEALTHCHECK" and "/healthz" in step[1] for step in steps)
    assert all("latest" not in step[1] and ":" in step[1] for step in steps if step[0] == "FROM")


def test_compose_itself_can_read_it():
    docker = shutil.which("docker")
    if not docker or subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode:
        return  # the structure above is all that can be looked at here; the guide says so
    variables = {
        "POSTGRES_PASSWORD": "x",
        "OIDC_ISSUER": "https://id.example.org",
        "PUBLIC_URL": "https://m.example.org",
    }
    done = subprocess.run(
        [docker, "compose", "-f", DEPLOY / "compose.yaml", "-f", DEPLOY / "compose.demo.yaml", "config", "--quiet"],
        env={"PATH": "/usr/bin:/bin:/usr/local/bin", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")

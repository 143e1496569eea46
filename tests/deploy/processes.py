"""Starts the services of deploy/compose.yaml as processes and sends requests through them.

The gateways get the file and the environment that Compose gives them, the balancer its own
configuration; only names of hosts become addresses of this machine.
"""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import yaml

DEPLOY = pathlib.Path("deploy")
SECRETS = {
    "POSTGRES_PASSWORD": "pw-postgres",
    "VALKEY_PASSWORD": "pw-valkey",
    "MAJORDOMO_OPERATOR_KEY": "sk-canary-operator",
    "MAJORDOMO_CLIENT_KEY": "sk-canary-client",
}
PLACEHOLDER = re.compile(r"\$\{(\w+):\?[^}]*\}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def filled(value):
    """A value with its variables, as Compose fills them in."""
    return PLACEHOLDER.sub(lambda found: SECRETS[found[1]], value)


def wait_for(what, check, seconds=30):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if check():
            return
        time.sleep(0.05)
    raise SystemExit(f"never: {what}")


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def fetch(port, path, key, body=None):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}")
    request.add_header("authorization", f"Bearer {key}")
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("content-type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def main():
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    services = compose["services"]
    gateways = {name: it for name, it in services.items() if name.startswith("gateway-")}
    assert sorted(services) == ["balancer", *sorted(gateways), "postgres", "valkey"], services
    for service in services.values():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if source.startswith("."):
                assert (DEPLOY / source).exists(), source
            else:
                assert source in compose["volumes"], source

    database = os.environ["MAJORDOMO_POSTGRES"]
    name = f"compose_{os.getpid()}"
    subprocess.run(
        ["psql", f"{database}/postgres", "--quiet", "--command", f"CREATE DATABASE {name}"],
        check=True,
    )
    work = pathlib.Path(tempfile.mkdtemp())
    # nginx drops its rights, and has to reach its own files.
    work.chmod(0o755)
    started = []

    def start(label, command, environment=None):
        log = (work / f"{label}.log").open("w")
        environment = {"PATH": os.environ["PATH"], **(environment or {})}
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        started.append(process)
        return process

    try:
        valkey = free_port()
        command = [filled(word) for word in services["valkey"]["command"]]
        server = os.environ["MAJORDOMO_REDIS_SERVER"]
        start("valkey", [server, *command[1:], "--port", str(valkey), "--bind", "127.0.0.1"])
        wait_for("valkey", lambda: listens(valkey))

        ports = {}
        for label, gateway in sorted(gateways.items()):
            ports[label] = (free_port(), free_port())
            environment = {key: filled(value) for key, value in gateway["environment"].items()}
            state = environment["MAJORDOMO_STATE"]
            environment["MAJORDOMO_STATE"] = state.replace("valkey:6379", f"127.0.0.1:{valkey}")
            assert "@postgres:5432/majordomo?" in environment["MAJORDOMO_LEDGER"]
            environment["MAJORDOMO_LEDGER"] = f"{database}/{name}?sslmode=disable"
            environment["STATE_DIRECTORY"] = str(work / label)
            listen = [f"127.0.0.1:{port}" for port in ports[label]]
            start(
                label,
                [os.environ["MAJORDOMO_BIN"], "serve", "--config", str(DEPLOY / "majordomo.toml")]
                + ["--listen", listen[0], "--operator-listen", listen[1]],
                environment,
            )
        for port, _ in ports.values():
            wait_for("a gateway", lambda: listens(port))

        balancer = free_port()
        conf = (DEPLOY / "nginx.conf").read_text().replace("listen 4100", f"listen {balancer}")
        for label, (port, _) in ports.items():
            assert f"server {label}:4100" in conf, label
            conf = conf.replace(f"{label}:4100", f"127.0.0.1:{port}")
        conf = f"daemon off; pid {work}/nginx.pid; error_log {work}/nginx.log;\n" + conf
        (work / "nginx.conf").write_text(conf)
        nginx = shutil.which("nginx") or "/usr/sbin/nginx"
        start("nginx", [nginx, "-p", str(work), "-c", str(work / "nginx.conf")])
        wait_for("the balancer", lambda: listens(balancer))

        operator = SECRETS["MAJORDOMO_OPERATOR_KEY"]
        for label, (_, port) in ports.items():

            def joined():
                _, health = fetch(port, "/api/health", operator)
                return json.loads(health)["cluster"]["nodes"] == 3

            wait_for(f"{label} sees three nodes", joined)
            _, health = fetch(port, "/api/health", operator)
            states = {it["store"]: it["state"] for it in json.loads(health)["cluster"]["stores"]}
            assert states == {"redis": "up", "postgres": "up"}, states

        chat = {"model": "demo/text", "messages": [{"role": "user", "content": "hi"}]}
        for _ in range(12):
            status, body = fetch(
                balancer, "/v1/chat/completions", SECRETS["MAJORDOMO_CLIENT_KEY"], chat
            )
            assert status == 200, body
        status, _ = fetch(balancer, "/v1/chat/completions", "sk-canary-nobody", chat)
        assert status == 401, status
        served = 0
        for _, port in ports.values():
            _, metrics = fetch(port, "/metrics", operator)
            found = re.search(r'majordomo_requests_total\{.*status="200".*\} (\d+)', metrics)
            served += found is not None
        assert served == 3, "the balancer does not balance"
        print("the services of compose.yaml run as processes: 12 requests over three gateways")
    except BaseException:
        for log in sorted(work.glob("*.log")):
            print(f"── {log.name}\n{log.read_text()[-2000:]}", file=sys.stderr)
        raise
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(timeout=90)
        shutil.rmtree(work, ignore_errors=True)


main()

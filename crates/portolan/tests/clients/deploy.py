"""Starts what `deploy/` describes, as far as a machine without containers allows: PostgreSQL with a password, the server and the
workers with the commands and the environment of `compose.yaml`.

    pip install mcp==2.3.0 prometheus-client==0.23.1 kubernetes-validate==1.37.0
    python crates/portolan/tests/clients/deploy.py target/debug/portolan

The Python SDK walks with a token, a detached run is driven by a worker, the dashboard names metrics that exist, and the
manifests for Kubernetes are valid and say the same as `compose.yaml`.
Exit code 0: all went well; 1: something did not, and it says what; 3: PostgreSQL is not installed.
"""

import asyncio
import contextlib
import glob
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx2
import kubernetes_validate
import yaml
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from prometheus_client.openmetrics.parser import text_string_to_metric_families

DEPLOY = Path(__file__).resolve().parents[4] / "deploy"
GRAPH = """version: "1.0"
server: {name: t, version: "1"}
tools:
  - name: counts
    description: counts
    inputSchema: {type: object}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: one}
      - {id: one, type: transform, transform: {expr: '{"n": 1}'}, next: exit}
      - {id: exit, type: exit}
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def until(is_so, *processes):
    """Waits until something is so, as long as the processes run."""
    while not is_so():
        for process in processes:
            assert process.poll() is None, f"{process.args} has ended with {process.returncode}"
        time.sleep(0.05)


def answers(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@contextlib.contextmanager
def postgres(programs, settings):
    """A server with the user, the database and the password of the file."""
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory() as folder:
        secret = Path(folder) / "password"
        secret.write_text(settings["POSTGRES_PASSWORD"])
        if user:
            shutil.chown(folder, "postgres")
            shutil.chown(secret, "postgres")
        data, port = f"{folder}/data", free_port()
        name = settings["POSTGRES_USER"]
        subprocess.run(
            [*user, f"{programs}/initdb", "-D", data, "-U", name, "-A", "scram-sha-256", f"--pwfile={secret}", "-E", "UTF8"],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        words = [*user, f"{programs}/postgres", "-D", data, "-p", str(port), "-k", folder, "-c", "listen_addresses=127.0.0.1"]
        with subprocess.Popen(words, stderr=subprocess.DEVNULL) as server:
            psql = [f"{programs}/psql", "-h", "127.0.0.1", "-p", str(port), "-U", name, "postgres"]
            environment = {**os.environ, "PGPASSWORD": settings["POSTGRES_PASSWORD"]}
            create = [*psql, "-c", f"CREATE DATABASE {settings['POSTGRES_DB']}"]
            until(lambda: subprocess.run(create, env=environment, capture_output=True).returncode == 0, server)
            try:
                yield port
            finally:
                server.send_signal(2)


def filled(value):
    """`${NAME:?why}` is the variable, as Compose fills it in."""
    return re.sub(r"\$\{(\w+)(:\?[^}]*)?\}", lambda found: os.environ[found[1]], str(value))


def environment_of(service, port):
    told = {name: filled(value) for name, value in service["environment"].items()}
    if "PORTOLAN_STORE" in told:
        told["PORTOLAN_STORE"] = told["PORTOLAN_STORE"].replace("@postgres/", f"@127.0.0.1:{port}/")
    return {**os.environ, **told}


async def walk(url, token):
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http:
        async with Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client:
            now = await client.call_tool("Init", {"workflowType": "quick-task"})
            assert not now.is_error, now
        metrics = (await http.get(f"{url}/metrics")).text
    async with httpx2.AsyncClient() as http:
        assert (await http.get(f"{url}/readyz")).text.strip() == "ok"
        for path in ["mcp", "metrics"]:
            refused = await http.get(f"{url}/{path}")
            assert refused.status_code == 401, refused
    return metrics


def check_dashboard(metrics):
    known = set()
    for family in text_string_to_metric_families(metrics):
        known |= {family.name} | {sample.name for sample in family.samples}
    dashboard = json.loads((DEPLOY / "grafana.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            named = re.findall(r"(?:portolan|mcp)_\w+", target["expr"])
            assert named and set(named) <= known, (target["expr"], sorted(known))


def check_manifests(compose):
    documents = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
    containers = {}
    for document in documents:
        kubernetes_validate.validate(document, "1.31", strict=True)
        pod = document.get("spec", {}).get("template", {}).get("spec", {})
        containers |= {container["name"]: container for container in pod.get("containers", [])}
    assert containers["worker"]["args"] == compose["worker"]["command"]
    # The addresses, and where the tokens are, are its own.
    flags = [[word for word in words if word.startswith("-")] for words in (containers["serve"]["args"], compose["serve"]["command"])]
    assert set(flags[0]) == set(flags[1]), flags
    for probe in ["livenessProbe", "readinessProbe"]:
        [host] = containers["serve"][probe]["httpGet"]["httpHeaders"]
        assert f"http://{host['value']}" in containers["serve"]["args"], probe
    for name in ["serve", "worker"]:
        named = {variable["name"] for variable in containers[name]["env"]}
        assert set(compose[name]["environment"]) <= named, named
    return len(documents)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = str(Path(sys.argv[1]).resolve())
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    print(f"kubernetes.yaml: {check_manifests(compose)} documents are valid")
    programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not programs:
        sys.exit(3)
    # The port of the file may be taken here.
    at = f"127.0.0.1:{free_port()}"
    os.environ |= {"POSTGRES_PASSWORD": "hush", "AGENTS_URL": f"http://{at}"}
    settings = {name: filled(value) for name, value in compose["postgres"]["environment"].items()}
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        project = folder / "project"
        project.mkdir()
        (project / "counts.yaml").write_text(GRAPH)
        os.environ |= {"PORTOLAN_DATA_DIR": str(folder / "keys"), "HOME": str(folder)}
        port = stack.enter_context(postgres(programs[-1], settings))

        def start(name, words, **more):
            environment = environment_of(compose[name], port)
            process = subprocess.Popen(words, cwd=project, env=environment, text=True, **more)
            stack.callback(process.wait)
            stack.callback(process.terminate)
            return process

        places = {"0.0.0.0:7420": at, "/tokens/clients": str(folder / "tokens")}
        issue = [program, "token", "new", "agent", "--scope", "navigate", "--file", str(folder / "tokens")]
        token = subprocess.run(issue, cwd=project, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        command = [places.get(word, filled(word)) for word in compose["serve"]["command"]]
        serve = start("serve", [program, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: answers(int(at.rsplit(":", 1)[1])), serve)
        workers = [
            start("worker", [program, *compose["worker"]["command"]], stdout=subprocess.DEVNULL)
            for _ in range(compose["worker"]["deploy"]["replicas"])
        ]
        metrics = asyncio.run(walk(f"http://{at}", token))
        check_dashboard(metrics)
        print("compose.yaml: the server answers, and the dashboard names its metrics")

        environment = environment_of(compose["worker"], port)

        def portolan(*words):
            done = subprocess.run([program, *words], cwd=project, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            return done.stdout

        run = portolan("run", "counts.yaml", "--detach").strip()
        until(lambda: f"{run}  success" in portolan("runs", "list", "--all"), *workers)
        print("compose.yaml: a worker has driven a run")


if __name__ == "__main__":
    main()

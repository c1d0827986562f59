"""Starts what `deploy/` describes, as far as a machine without containers allows: PostgreSQL with a password or three servers of
Restate, the server and the workers, with the commands and the environment of `compose.yaml` and `compose-restate.yaml`.

    pip install mcp==2.3.0 prometheus-client==0.23.1 kubernetes-validate==1.37.0
    npm install @restatedev/restate-server@1.7.12 @restatedev/restate@1.7.12
    RESTATE_SERVER=…/restate-server RESTATE_CLI=…/restate RESTATE_OBJECTS=target/debug/portolan-restate \
        python crates/portolan/tests/clients/deploy.py target/debug/portolan

With each store the Python SDK walks with a token, a detached run is driven by a worker, and the dashboard names metrics that exist;
the manifests for Kubernetes are valid and say the same as the files for Compose.
Exit code 0: all went well; 1: something did not, and it says what; 3: PostgreSQL is not installed. Without the programs of Restate
it says that it did not check them.
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


def moved(value, places):
    """A value with the addresses and folders of this machine."""
    value = filled(value)
    for there, here in places.items():
        value = value.replace(there, here)
    return value


def environment_of(service, places):
    return os.environ | {name: moved(value, places) for name, value in service.get("environment", {}).items()}


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
            # A metric exists once it has counted something. `tests/cli/serve_http.rs` checks those of models and servers.
            named = re.findall(r"(?:portolan|mcp_server)_\w+", target["expr"])
            assert set(named) <= known, (target["expr"], sorted(known))


def documents(name):
    """The manifests of a file, which are valid, and their containers by name."""
    found = list(yaml.safe_load_all((DEPLOY / name).read_text()))
    containers = {}
    for document in found:
        kubernetes_validate.validate(document, "1.31", strict=True)
        pod = document.get("spec", {}).get("template", {}).get("spec", {})
        containers |= {container["name"]: container for container in pod.get("containers", [])}
    print(f"{name}: {len(found)} documents are valid")
    return containers


def check_manifests(compose, with_restate):
    containers = documents("kubernetes.yaml")
    for services in [compose, with_restate]:
        assert containers["worker"]["args"] == services["worker"]["command"]
        # The addresses, and where the tokens are, are its own.
        words = (containers["serve"]["args"], services["serve"]["command"])
        flags = [{word for word in words if word.startswith("-")} for words in words]
        assert flags[0] == flags[1], flags
        for name in ["serve", "worker"]:
            named = {variable["name"] for variable in containers[name]["env"]}
            assert set(services[name]["environment"]) <= named, named
    for probe in ["livenessProbe", "readinessProbe"]:
        [host] = containers["serve"][probe]["httpGet"]["httpHeaders"]
        assert f"http://{host['value']}" in containers["serve"]["args"], probe
    of_restate = documents("kubernetes-restate.yaml")
    assert of_restate["objects"]["command"] == with_restate["objects"]["entrypoint"]
    assert of_restate["objects"]["args"] == with_restate["objects"]["command"]
    # The address of the objects is its own.
    register = with_restate["register"]
    assert of_restate["register"]["args"][:-1] == register["command"][:-1]
    assert of_restate["register"]["image"] == register["image"]
    assert {variable["name"] for variable in of_restate["register"]["env"]} == set(register["environment"])


def services_of(name):
    return yaml.safe_load((DEPLOY / name).read_text())["services"]


class Site:
    """The processes of a file for Compose, in a project of their own, at addresses of this machine."""

    def __init__(self, stack, name, program):
        self.stack, self.name, self.program, self.services = stack, name, program, services_of(name)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self.project = folder / "project"
        self.project.mkdir()
        (self.project / "counts.yaml").write_text(GRAPH)
        os.environ |= {"PORTOLAN_DATA_DIR": str(folder / "keys"), "HOME": str(folder)}
        # The port of the file may be taken here.
        self.at = f"127.0.0.1:{free_port()}"
        os.environ["AGENTS_URL"] = f"http://{self.at}"
        self.places = {"0.0.0.0:7420": self.at, "/tokens/clients": str(folder / "tokens")}

    def start(self, service, words, environment=None, **more):
        environment = environment or environment_of(self.services[service], self.places)
        process = subprocess.Popen(words, cwd=self.project, env=environment, text=True, **more)
        self.stack.callback(process.wait)
        self.stack.callback(process.terminate)
        return process

    def words(self, service):
        return [moved(word, self.places) for word in self.services[service]["command"]]

    def check(self):
        """An agent walks with a token, and a worker drives a run."""
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        issue = [self.program, "token", "new", "agent", "--scope", "navigate", "--file", self.places["/tokens/clients"]]
        token = subprocess.run(issue, cwd=self.project, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        serve = self.start("serve", [self.program, *self.words("serve")], **quiet)
        until(lambda: answers(int(self.at.rsplit(":", 1)[1])), serve)
        replicas = range(self.services["worker"]["deploy"]["replicas"])
        workers = [self.start("worker", [self.program, *self.words("worker")], **quiet) for _ in replicas]
        metrics = asyncio.run(walk(f"http://{self.at}", token))
        check_dashboard(metrics)
        print(f"{self.name}: the server answers, and the dashboard names its metrics")

        environment = environment_of(self.services["worker"], self.places)

        def portolan(*words):
            done = subprocess.run([self.program, *words], cwd=self.project, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            return done.stdout

        run = portolan("run", "counts.yaml", "--detach").strip()
        until(lambda: f"{run}  success" in portolan("runs", "list", "--all"), *workers)
        print(f"{self.name}: a worker has driven a run")


def with_postgres(program, programs):
    os.environ["POSTGRES_PASSWORD"] = "hush"
    with contextlib.ExitStack() as stack:
        site = Site(stack, "compose.yaml", program)
        settings = {name: filled(value) for name, value in site.services["postgres"]["environment"].items()}
        port = stack.enter_context(postgres(programs[-1], settings))
        site.places["@postgres/"] = f"@127.0.0.1:{port}/"
        site.check()


def with_restate(program, server, cli, objects):
    with contextlib.ExitStack() as stack:
        site = Site(stack, "compose-restate.yaml", program)
        nodes = [name for name in site.services if name.startswith("restate-")]
        for node in nodes:
            site.places |= {f"{node}:{port}": f"127.0.0.1:{free_port()}" for port in (5122, 8080, 9070)}
        served = f"127.0.0.1:{free_port()}"
        site.places |= {"0.0.0.0:9080": served, "objects:9080": served}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        for node in nodes:
            # In containers each has its own addresses, and the usual ports.
            binds = {"": 5122, "INGRESS__": 8080, "ADMIN__": 9070}
            own = {f"RESTATE_{part}BIND_ADDRESS": site.places[f"{node}:{port}"] for part, port in binds.items()}
            own["RESTATE_BASE_DIR"] = str(site.project.parent / node)
            site.start(node, [server], environment_of(site.services[node], site.places) | own, **quiet)
        running = site.start("objects", [objects, *site.words("objects")], **quiet)
        register = [cli, *site.words("register")]
        environment = environment_of(site.services["register"], site.places)
        for _ in range(2):
            until(lambda: subprocess.run(register, env=environment, capture_output=True).returncode == 0, running)
        site.check()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = str(Path(sys.argv[1]).resolve())
    check_manifests(services_of("compose.yaml"), services_of("compose-restate.yaml"))
    of_restate = [os.environ.get(name) for name in ("RESTATE_SERVER", "RESTATE_CLI", "RESTATE_OBJECTS")]
    if all(path and os.access(path, os.X_OK) for path in of_restate):
        with_restate(program, *of_restate)
    else:
        print("NOT CHECKED: compose-restate.yaml: the programs of Restate are not on this machine")
    programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not programs:
        sys.exit(3)
    with_postgres(program, programs)


if __name__ == "__main__":
    main()

"""Leads a workflow over HTTP with other people's clients: the TypeScript SDK, its package for tasks, and LangChain's adapter.

    python3 crates/portolan/tests/clients/over_http.py target/debug/portolan

Each walks a workflow to `success`, by sending back what is offered: `quick-task` without its checks, and the one with tasks a
step whose check takes longer than a call. A client that cannot be installed is
named as not checked. Exit code 0: all that could be installed went well; 1: one did not, and it says what.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from believed import believe

HERE = Path(__file__).resolve().parent / "over_http"
TYPESCRIPT = "@modelcontextprotocol/client@2.4.0"
TASKS = "@modelcontextprotocol/ext-tasks@0.2.2"
LANGCHAIN = "langchain-mcp-adapters==0.3.2"


def installed(words, folder, name):
    done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"NOT CHECKED: {name} cannot be installed here: {done.stderr.strip()[-300:]}")
    return done.returncode == 0


def node(folder, name, *packages):
    if not shutil.which("npm"):
        print(f"NOT CHECKED: {packages[-1]}, because there is no npm here")
        return None
    (folder / "package.json").write_text('{"private": true}')
    words = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", *packages]
    if not installed(words, folder, packages[-1]):
        return None
    script = folder / name  # node looks for packages beside the script
    shutil.copy(HERE / name, script)
    return ["node", str(script)]


def typescript(folder):
    return node(folder, "walk.mjs", TYPESCRIPT)


def typescript_tasks(folder):
    return node(folder, "tasks.mjs", TYPESCRIPT, TASKS)


def slow(program, project):
    """Adds a workflow with a step whose check takes longer than a call, which a person has trusted."""
    nodes = {
        "start": {"type": "start"},
        "work": {"type": "task", "accept": [{"id": "slow", "run": ["sleep", "5"]}]},
        "done": {"type": "end", "result": "success"},
    }
    edges = [{"from": "start", "to": "work"}, {"from": "work", "to": "done"}]
    file = project / ".flow/workflows/slow.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"nodes": nodes, "edges": edges}))
    subprocess.run([program, "trust", str(file)], cwd=project, check=True, capture_output=True)


def langchain(folder):
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv/bin/python"
    words = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", LANGCHAIN]
    return [str(python), str(HERE / "langchain_walk.py")] if installed(words, folder, LANGCHAIN) else None


@contextlib.contextmanager
def serving(program, project, environment):
    words = [program, "serve", "--http", "127.0.0.1:0"]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(words, cwd=project, env=environment, **streams) as server:
        try:
            address = server.stdout.readline().strip()
            yield address, (project / ".portolan/serve.token").read_text()
        finally:
            server.terminate()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = str(Path(sys.argv[1]).resolve())
    for client in [typescript, typescript_tasks, langchain]:
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder).resolve()
            project = folder / "project"
            project.mkdir()
            command = client(folder)
            if not command:
                continue
            environment = {**os.environ, "PORTOLAN_DATA_DIR": str(folder / "person")}
            os.environ["PORTOLAN_DATA_DIR"] = environment["PORTOLAN_DATA_DIR"]
            believe(program, project, "quick-task")
            slow(program, project)
            with serving(program, project, environment) as (address, token):
                done = subprocess.run(
                    [*command, address, token], cwd=project, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                    timeout=120,
                )  # fmt: skip
            assert done.stdout.strip() == "success", f"{client.__name__}: {done.stdout}\n{done.stderr[-3000:]}"
            print(f"{client.__name__}: well")


if __name__ == "__main__":
    main()

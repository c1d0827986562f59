"""Leads a workflow over HTTP with other people's clients: the TypeScript SDK and LangChain's adapter.

    python3 crates/portolan/tests/clients/over_http.py target/debug/portolan

Each walks `quick-task`, without its checks, to `success`, by sending back what is offered. A client that cannot be installed is
named as not checked. Exit code 0: all that could be installed went well; 1: one did not, and it says what.
"""

import contextlib
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
LANGCHAIN = "langchain-mcp-adapters==0.3.2"


def installed(words, folder, name):
    done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"NOT CHECKED: {name} cannot be installed here: {done.stderr.strip()[-300:]}")
    return done.returncode == 0


def typescript(folder):
    if not shutil.which("npm"):
        print("NOT CHECKED: the TypeScript SDK, because there is no npm here")
        return None
    (folder / "package.json").write_text('{"private": true}')
    words = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", TYPESCRIPT]
    if not installed(words, folder, TYPESCRIPT):
        return None
    script = folder / "walk.mjs"  # node looks for packages beside the script
    shutil.copy(HERE / "walk.mjs", script)
    return ["node", str(script)]


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
    for client in [typescript, langchain]:
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
            with serving(program, project, environment) as (address, token):
                done = subprocess.run(
                    [*command, address, token], cwd=project, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                    timeout=120,
                )  # fmt: skip
            assert done.stdout.strip() == "success", f"{client.__name__}: {done.stdout}\n{done.stderr[-3000:]}"
            print(f"{client.__name__}: well")


if __name__ == "__main__":
    main()

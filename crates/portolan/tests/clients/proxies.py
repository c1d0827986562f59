"""Reaches `portolan serve --http` through nginx and Caddy, configured as docs/remote.md says, with the Python SDK.

    pip install mcp==2.3.0 prometheus-client==0.23.1
    python crates/portolan/tests/clients/proxies.py target/debug/portolan

Through each proxy that is installed, and in both eras of MCP, it lists and calls tools; without a password it gets nothing.
Prometheus' own reader reads the metrics of these calls.
Exit code 0: all went well; 1: something did not, and it says what; 3: no proxy is installed.
"""

import asyncio
import base64
import contextlib
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
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from prometheus_client.openmetrics.parser import text_string_to_metric_families

PAGE = Path(__file__).resolve().parents[4] / "docs/remote.md"
PASSWORD = "a word that is long enough"


def block(language):
    """The one block of the page in this language."""
    [found] = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.S)
    return found


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def nginx(folder, port, upstream, token):
    users = folder / "users"
    password = subprocess.run(["openssl", "passwd", "-apr1", PASSWORD], capture_output=True, text=True, check=True)
    users.write_text(f"agents:{password.stdout.strip()}\n")
    users.chmod(0o644)
    folder.chmod(0o755)
    location = block("nginx").replace("/etc/nginx/portolan.users", str(users))
    location = location.replace("127.0.0.1:7420", upstream).replace("TOKEN", token)
    file = folder / "nginx.conf"
    file.write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/log;\nevents {{}}\n"
        f"http {{ access_log off; server {{ listen 127.0.0.1:{port};\n{location} }} }}\n"
    )
    return ["nginx", "-c", str(file)]


def caddy(folder, port, upstream, token):
    hashed = subprocess.run(
        ["caddy", "hash-password", "--plaintext", PASSWORD], capture_output=True, text=True, check=True
    )
    site = block("caddy").replace("127.0.0.1:7420", upstream).replace("TOKEN", token)
    site = site.replace("HASH", hashed.stdout.strip())
    version = subprocess.run(["caddy", "version"], capture_output=True, text=True, check=True).stdout
    if re.match(r"v?2\.[0-7]\.|2\.6", version):
        site = site.replace("basic_auth", "basicauth")  # its name before 2.8
    file = folder / "Caddyfile"
    file.write_text(f"{{\n admin off\n auto_https off\n}}\nhttp://127.0.0.1:{port} {{\n{site}}}\n")
    return ["caddy", "run", "--config", str(file), "--adapter", "caddyfile"]


def answers(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


async def walk(url):
    word = base64.b64encode(f"agents:{PASSWORD}".encode()).decode()
    for mode in ["auto", "legacy"]:
        async with httpx2.AsyncClient(headers={"Authorization": f"Basic {word}"}, timeout=60) as http:
            async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
                assert len((await client.list_tools()).tools) == 11
                now = await client.call_tool("Init", {"workflowType": "quick-task"})
                assert not now.is_error, now
    async with httpx2.AsyncClient() as http:
        for headers in [{}, {"Authorization": "Bearer x"}, {"Authorization": "Basic x"}]:
            refused = await http.post(url, headers=headers, json={})
            assert refused.status_code == 401, refused


def counted(url, token, calls):
    """The metrics must be readable, and have the calls."""
    text = httpx2.get(url, headers={"Authorization": f"Bearer {token}"}).text
    families = {family.name: family for family in text_string_to_metric_families(text)}
    samples = families["mcp_server_operation_duration_seconds"].samples
    [init] = [s for s in samples if s.name.endswith("_count") and s.labels["gen_ai_tool_name"] == "Init"]
    assert init.value == calls, init
    [runs] = families["portolan_runs_open"].samples
    assert runs.value == calls, runs


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = str(Path(sys.argv[1]).resolve())
    proxies = [proxy for proxy in (nginx, caddy) if shutil.which(proxy.__name__)]
    if not proxies:
        sys.exit(3)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        project = folder / "project"
        project.mkdir()
        environment = {**os.environ, "PORTOLAN_DATA_DIR": str(folder / "person"), "HOME": str(folder)}
        words = [program, "serve", "--http", "127.0.0.1:0", "--format", "json"]
        with subprocess.Popen(words, cwd=project, env=environment, stdout=subprocess.PIPE, text=True) as serving:
            said = ""
            while not said.endswith("}\n"):
                said += serving.stdout.readline()
            said = json.loads(said)
            upstream = re.search(r"//([^/]+)/", said["address"]).group(1)
            token = Path(said["tokenFile"]).read_text()
            for proxy in proxies:
                port = free_port()
                command = proxy(folder, port, upstream, token)
                with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as running:
                    while not answers(port):
                        assert running.poll() is None, running.stderr.read()
                        time.sleep(0.05)
                    asyncio.run(walk(f"http://127.0.0.1:{port}/mcp"))
                    running.terminate()
                    running.stderr.read()
                print(f"{proxy.__name__}: well")
            counted(f"http://{upstream}/metrics", token, 2 * len(proxies))
            serving.terminate()
            assert serving.wait() == 0


if __name__ == "__main__":
    main()

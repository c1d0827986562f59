"""Walks a workflow over TLS with the Python SDK, as clients that are told apart by their tokens.

    python3 crates/portolan/tests/clients/tokens.py target/debug/portolan

Needs `mcp`, whose dependency `cryptography` writes the certificate. Exit code 0: all went well.
"""

import asyncio
import contextlib
import datetime
import ipaddress
import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx2
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from mcp import types
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

# Another address than the one that is the default: clients of other machines use it.
ADDRESS = "127.0.0.2"
ASKING = {
    "nodes": {
        "start": {"type": "start"},
        "ask": {"type": "end", "result": "blocked", "escalation": "hitl", "description": "May it be published?"},
        "done": {"type": "end", "result": "success"},
    },
    "edges": [{"from": "start", "to": "ask"}, {"from": "ask", "to": "done", "on": "passed"}],
}


def certificate(folder):
    """A certificate for the address, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "portolan")])
    now = datetime.datetime.now(datetime.timezone.utc)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(ADDRESS))])
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1)).add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    chain, private = folder / "chain.pem", folder / "key.pem"
    chain.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    private.write_bytes(key.private_bytes(*plain))
    return chain, private


class Server:
    def __init__(self, program, folder):
        self.program, self.folder, self.project = program, folder, folder / "project"
        (self.project / ".flow/workflows").mkdir(parents=True)
        (self.project / ".flow/workflows/asking.json").write_text(json.dumps(ASKING))
        self.tokens = folder / "tokens"
        self.chain, self.key = certificate(folder)
        self.environment = {**os.environ, "PORTOLAN_DATA_DIR": str(folder / "person")}

    def command(self, *words):
        done = subprocess.run(
            [self.program, *words], cwd=self.project, env=self.environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def issue(self, name, scopes):
        return self.command("token", "new", name, "--scope", scopes, "--file", self.tokens)

    @contextlib.asynccontextmanager
    async def serving(self):
        with socket.socket() as free:
            free.bind(("0.0.0.0", 0))
            port = free.getsockname()[1]
        address = f"https://{ADDRESS}:{port}"
        server = await asyncio.create_subprocess_exec(
            self.program, "serve", "--http", f"0.0.0.0:{port}", "--url", address, "--tokens", self.tokens,
            "--tls", self.chain, self.key, "--human", "verified", "--toolset", "tasks,navigate",
            cwd=self.project, env=self.environment, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            printed = (await server.stdout.readline()).decode().strip()
            assert printed == f"{address}/mcp", printed
            yield printed
        finally:
            server.terminate()
            assert await server.wait() == 0, "the server ends well when it is asked to"

    @contextlib.asynccontextmanager
    async def client(self, address, token, mode, asked):
        async def person(_context, question):
            asked.append(question.message)
            return types.ElicitResult(action="accept", content={"answer": "passed"})

        trusted = ssl.create_default_context(cafile=str(self.chain))
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60, verify=trusted) as http:
            transport = streamable_http_client(address, http_client=http)
            async with Client(transport, mode=mode, elicitation_callback=person) as client:
                yield client


async def call(client, tool, arguments):
    return (await client.call_tool(tool, arguments)).structured_content


async def walk(server, mode):
    agent, ada = server.issue("agent", "navigate"), server.issue("ada", "navigate,person")
    reader = server.issue("reader", "read")
    asked = []
    async with server.serving() as address:
        async with server.client(address, reader, mode, asked) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert "get_position" in names and not names & {"Init", "Next", "complete_step"}, names
            refused = await call(client, "Init", {"workflowType": "asking"})
            assert refused["error"]["code"] == "needs_scope", refused
        async with server.client(address, agent, mode, asked) as client:
            now = await call(client, "Init", {"workflowType": "asking"})
            run = {"run": now["run"]}
            now = await call(client, "Start", run)
            answer = now["actions"]["blocked"][0]["arguments"]
            refused = await call(client, "Next", answer)
            assert refused["error"] == "needs_person" and not asked, (refused, asked)
        async with server.client(address, ada, mode, asked) as client:
            now = await call(client, "Next", answer)
            assert now["terminal"] == "success" and len(asked) == 1, (now, asked)
        events = server.command("runs", "events", now["run"], "--format", "json")
        assert '"name": "ada"' in events and '"agent": "agent (' in events, events
        await refuses_plain_text(address)
        server.command("token", "remove", "agent", "--file", server.tokens)
        trusted = ssl.create_default_context(cafile=str(server.chain))
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {agent}"}, verify=trusted) as http:
            refused = await http.post(address, json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
        assert refused.status_code == 401 and refused.headers["www-authenticate"] == "Bearer", refused.headers


async def refuses_plain_text(address):
    host, port = address.removeprefix("https://").removesuffix("/mcp").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"GET /healthz HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    said = await reader.read()
    assert b"HTTP/1.1" not in said, said
    writer.close()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = str(Path(sys.argv[1]).resolve())
    for mode in ("auto", "legacy"):
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(walk(Server(program, Path(folder).resolve()), mode))
        print(f"tokens and TLS, {mode}: ok")


if __name__ == "__main__":
    main()

"""Leads a workflow with the Python SDK, which gets its token from an authorization server: oidc-provider, from npm.

    python3 crates/portolan/tests/clients/oauth.py target/debug/portolan

Then sends tokens that are wrong in one thing each. Needs `mcp`, and `npm`. Exit code 0: all went well; 3: the authorization server
cannot be installed here.
"""

import asyncio
import base64
import contextlib
import http.server
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx2
import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from mcp.client import Client
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.streamable_http import streamable_http_client

from believed import believe

HERE = Path(__file__).resolve().parent / "oauth"
PROVIDER = "oidc-provider@9.13.3"
WRITERS = {"RSA": RSAAlgorithm, "EC": ECAlgorithm, "OKP": OKPAlgorithm}


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Keys:
    """The keys of an authorization server, by algorithm."""

    def __init__(self, name):
        self.name = name
        self.private = {
            "RS256": rsa.generate_private_key(public_exponent=65537, key_size=2048),
            "PS256": rsa.generate_private_key(public_exponent=65537, key_size=2048),
            "ES256": ec.generate_private_key(ec.SECP256R1()),
            "EdDSA": ed25519.Ed25519PrivateKey.generate(),
        }

    def written(self, file):
        keys = []
        for algorithm, key in self.private.items():
            kind = {"RS256": "RSA", "PS256": "RSA", "ES256": "EC", "EdDSA": "OKP"}[algorithm]
            keys.append({**json.loads(WRITERS[kind].to_jwk(key)), "kid": self.id(algorithm), "alg": algorithm, "use": "sig"})
            keys[-1].pop("key_ops", None)
        file.write_text(json.dumps({"keys": keys}))

    def id(self, algorithm):
        return f"{self.name}-{algorithm}"

    def token(self, claims, algorithm="RS256", key=None, **headers):
        headers = {"kid": self.id(algorithm), "typ": "at+jwt", **headers}
        headers = {name: value for name, value in headers.items() if value is not None}
        claims = {name: value for name, value in claims.items() if value is not None}
        # The library would refuse to write some of the claims.
        signing, text = jwt.PyJWS(), json.dumps(claims).encode()
        return signing.encode(text, key or self.private[algorithm], algorithm=algorithm, headers=headers)


def b64(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


class Kept:
    """Where the SDK keeps its token."""

    def __init__(self):
        self.tokens = self.client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


@contextlib.contextmanager
def authorization_server(folder, issuer, keys, resource):
    file = folder / "keys.json"
    keys.written(file)
    words = ["node", "server.mjs", issuer, str(file), resource]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            while (line := server.stdout.readline()) and line.strip() != "ready":
                pass
            assert line, "the authorization server starts"
            yield
        finally:
            server.terminate()


@contextlib.contextmanager
def serving(program, project, issuer, resource):
    words = [program, "serve", "--http", resource.removeprefix("http://"), "--oauth", issuer, "--url", resource]
    words += ["--toolset", "tasks,navigate"]
    with subprocess.Popen(words, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout.readline().strip() == f"{resource}/mcp"
            yield
        finally:
            server.terminate()


async def walk(issuer, resource):
    provider = ClientCredentialsOAuthProvider(
        f"{resource}/mcp", Kept(), "release-agent", "a secret of the test alone", scope="navigate", issuer=issuer
    )
    async with httpx2.AsyncClient(auth=provider, timeout=60) as http:
        async with Client(streamable_http_client(f"{resource}/mcp", http_client=http)) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert "Init" in tools and "CopyWorkflows" not in tools, tools
            now = (await client.call_tool("Init", {"workflowType": "quick-task"})).structured_content
            await client.call_tool("Start", {"run": now["run"]})
            return now["run"]


async def step_up(issuer, resource):
    """A client whose token has too few scopes is told which it needs, gets another token, and makes the same call again."""
    kept = Kept()
    provider = ClientCredentialsOAuthProvider(
        f"{resource}/mcp", kept, "release-agent", "a secret of the test alone", issuer=issuer
    )
    async with httpx2.AsyncClient(auth=provider, timeout=60) as http:
        async with Client(streamable_http_client(f"{resource}/mcp", http_client=http)) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            # It has asked for what the metadata names.
            assert "Init" in tools and "CopyWorkflows" not in tools, tools
            assert set(kept.tokens.scope.split()) == {"navigate", "run"}, kept.tokens.scope
            copied = await client.call_tool("CopyWorkflows", {})
            assert "needs_scope" not in json.dumps(copied.structured_content), copied
            assert set(kept.tokens.scope.split()) == {"navigate", "run", "author"}, kept.tokens.scope
            now = await client.call_tool("Init", {"workflowType": "quick-task"})
            assert not now.is_error, now


async def refusals(keys, issuer, resource):
    """Sends tokens that are right, and tokens that are wrong in one thing each."""
    now = int(time.time())
    right = {"iss": issuer, "aud": f"{resource}/mcp", "sub": "ada", "scope": "openid read", "iat": now, "exp": now + 300}
    public = keys.private["RS256"].public_key()
    pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    plain = f"{b64({'alg': 'none', 'typ': 'at+jwt'})}.{b64(right)}."
    confused = keys_free_hs256(right, pem, keys.id("RS256"))
    good = keys.token(right)
    head, body, signature = good.split(".")
    admitted = {algorithm: keys.token(right, algorithm) for algorithm in keys.private} | {
        "of the whole server": keys.token({**right, "aud": resource}),
        "of two audiences": keys.token({**right, "aud": ["https://other.example.org", f"{resource}/mcp"]}),
        "with scopes as a list": keys.token({**right, "scope": None, "scp": ["read"]}),
        "of the type JWT": keys.token(right, typ="JWT"),
        "by a clock that is 20 s behind": keys.token({**right, "exp": now - 20}),
    }
    refused = {
        "that is none": "abc",
        "of another audience": keys.token({**right, "aud": "https://other.example.org"}),
        "of another path": keys.token({**right, "aud": f"{resource}/mcp/navigate"}),
        "of a longer name": keys.token({**right, "aud": f"{resource}.evil.example/mcp"}),
        "without an audience": keys.token({**right, "aud": None}),
        "of another issuer": keys.token({**right, "iss": "https://other.example.org"}),
        "without an issuer": keys.token({**right, "iss": None}),
        "that has expired": keys.token({**right, "exp": now - 120}),
        "that never expires": keys.token({**right, "exp": None}),
        "that is not valid yet": keys.token({**right, "nbf": now + 120}),
        "without a subject": keys.token({**right, "sub": None}),
        "with an empty subject": keys.token({**right, "sub": ""}),
        "with a long subject": keys.token({**right, "sub": "x" * 129}),
        "with a line break": keys.token({**right, "sub": "a\nb"}),
        "of an issuer in a list": keys.token({**right, "iss": [issuer]}),
        "with a name of two words": keys.token({**right, "sub": "ada (claude)"}),
        "that is bound to a key": keys.token({**right, "cnf": {"jkt": "x"}}),
        "of another type": keys.token(right, typ="dpop+jwt"),
        "without a signature": plain,
        "with an empty signature": f"{head}.{body}.",
        "with other claims": f"{head}.{b64({**right, 'scope': 'navigate'})}.{signature}",
        "signed with the public key as a secret": confused,
        "of a key that is not the issuer's": Keys("one").token(right),
        "of a key nobody knows": Keys("nobody").token(right),
        "of a key that does not fit the algorithm": keys.token(right, "ES256", kid=keys.id("RS256")),
        "that is long": keys.token({**right, "more": "x" * 20_000}),
    }
    async with httpx2.AsyncClient(timeout=60) as http:
        for name, token in (admitted | refused).items():
            answer = await http.get(f"{resource}/mcp", headers={"Authorization": f"Bearer {token}"})
            # What is admitted is no message of MCP.
            assert answer.status_code == (401 if name in refused else 406), (name, answer.status_code, answer.text)
        metrics = {"Authorization": f"Bearer {keys.token({**right, 'aud': resource})}"}
        assert (await http.get(f"{resource}/metrics", headers=metrics)).status_code == 200
        nothing = {"Authorization": f"Bearer {keys.token({**right, 'scope': 'openid'})}"}
        assert (await http.post(f"{resource}/mcp", headers=nothing, json={})).status_code == 403
        metrics = {"Authorization": f"Bearer {keys.token({**right, 'aud': resource, 'scope': 'run'})}"}
        assert (await http.get(f"{resource}/metrics", headers=metrics)).status_code == 403
    print(f"OAuth: {len(admitted)} tokens admitted, {len(refused)} refused")


def keys_free_hs256(claims, secret, kid):
    """A token that is signed with a public key as if it were a secret, which the library here refuses to write."""
    import hashlib
    import hmac

    signed = f"{b64({'alg': 'HS256', 'typ': 'at+jwt', 'kid': kid})}.{b64(claims)}"
    code = hmac.new(secret, signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{base64.urlsafe_b64encode(code).rstrip(b'=').decode()}"


async def discovery(issuer, resource):
    async with httpx2.AsyncClient(timeout=60) as http:
        answer = await http.post(f"{resource}/mcp", json={})
        challenge = answer.headers["www-authenticate"]
        place = f"{resource}/.well-known/oauth-protected-resource/mcp"
        assert answer.status_code == 401 and challenge == f'Bearer resource_metadata="{place}"', challenge
        metadata = (await http.get(place)).json()
        assert metadata["resource"] == f"{resource}/mcp" and metadata["authorization_servers"] == [issuer], metadata
        whole = (await http.get(f"{resource}/.well-known/oauth-protected-resource")).json()
        assert whole["resource"] == resource, whole
        nowhere = await http.get(f"{resource}/.well-known/oauth-protected-resource/elsewhere")
        assert nowhere.status_code == 404, nowhere.text


async def rotated(keys, issuer, resource):
    """Waits until a key that the issuer has not had before is noticed."""
    now = int(time.time())
    claims = {"iss": issuer, "aud": resource, "sub": "ada", "scope": "read", "exp": now + 300}
    async with httpx2.AsyncClient(timeout=60) as http:
        headers = {"Authorization": f"Bearer {keys.token(claims)}"}
        while (answer := await http.get(f"{resource}/metrics", headers=headers)).status_code == 401:
            assert time.time() < now + 60, "a new key is noticed"
        assert answer.status_code == 200, answer.text


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder).resolve()
        (folder / "package.json").write_text('{"private": true, "type": "module"}')
        words = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", PROVIDER]
        if not shutil.which("npm") or subprocess.run(words, cwd=folder, stdout=subprocess.DEVNULL).returncode != 0:
            sys.exit(3)
        shutil.copy(HERE / "server.mjs", folder)  # node looks for packages beside the script
        project = folder / "project"
        project.mkdir()
        os.environ["PORTOLAN_DATA_DIR"] = str(folder / "person")
        believe(program, project, "quick-task")
        issuer, resource = f"http://127.0.0.1:{free_port()}", f"http://127.0.0.1:{free_port()}"
        keys = Keys("one")
        with authorization_server(folder, issuer, keys, resource):
            with serving(program, project, issuer, resource):
                asyncio.run(discovery(issuer, resource))
                run = asyncio.run(walk(issuer, resource))
                words = [program, "runs", "events", run, "--format", "json"]
                events = subprocess.run(words, cwd=project, capture_output=True, text=True, check=True).stdout
                assert '"agent": "release-agent (' in events, events
                asyncio.run(step_up(issuer, resource))
                asyncio.run(refusals(keys, issuer, resource))
        unreachable(program, project, issuer, resource)
        redirected(program, project, keys, folder, resource)
        rotation(program, project, folder, keys, issuer, resource)
    print("OAuth: discovery, a walk, a step-up, refusals and a new key: ok")


def rotation(program, project, folder, keys, issuer, resource):
    with contextlib.ExitStack() as stack:
        with authorization_server(folder, issuer, keys, resource):
            stack.enter_context(serving(program, project, issuer, resource))
        newer = Keys("two")
        with authorization_server(folder, issuer, newer, resource):
            asyncio.run(rotated(newer, issuer, resource))


def unreachable(program, project, issuer, resource):
    """A server whose authorization server does not answer says so, and does not start."""
    words = [program, "serve", "--http", "127.0.0.1:0", "--oauth", issuer, "--url", resource]
    done = subprocess.run(words, cwd=project, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "cannot be used" in done.stderr, done


def redirected(program, project, keys, folder, resource):
    """Keys that are elsewhere than the metadata says are not taken: the way there may not be encrypted."""
    port = free_port()
    issuer = f"http://127.0.0.1:{port}"
    keys.written(folder / "keys.json")

    class Elsewhere(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path == "/keys":
                self.send_response(302)
                self.send_header("Location", f"http://127.0.0.2:{port}/moved")
                self.end_headers()
                return
            text = (folder / "keys.json").read_text()
            if "well-known" in self.path:
                text = json.dumps({"issuer": issuer, "jwks_uri": f"{issuer}/keys"})
            self.send_response(200)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_words):
            pass

    with http.server.ThreadingHTTPServer(("0.0.0.0", port), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        words = [program, "serve", "--http", "127.0.0.1:0", "--oauth", issuer, "--url", resource]
        done = subprocess.run(words, cwd=project, capture_output=True, text=True, timeout=60)
        server.shutdown()
    assert done.returncode == 1 and "302" in done.stderr, done


if __name__ == "__main__":
    main()

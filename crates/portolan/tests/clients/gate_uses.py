"""Does what docs/gate-database.md, docs/gate-payment.md and docs/gate-team.md describe, with the files of these pages.

    pip install mcp==2.3.0
    python crates/portolan/tests/clients/gate_uses.py target/debug/portolan

The client is the Python SDK's. The database is behind `mcp-server-sqlite` from PyPI; the servers for payments and tickets
are of the SDK's server. Everything happens in a temporary folder. Exit code 0: all went well, or the server of the
database cannot be installed, which is said; 1: something did not, and it says what.
"""

import asyncio
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

DOCS = Path(__file__).resolve().parents[4] / "docs"

# The servers write down what they did. They must have their key, which the clients do not.
SERVERS = '''
import json, os, sys
from mcp.server.mcpserver import MCPServer
key = os.environ[sys.argv[2]]
server = MCPServer(sys.argv[1])

def done(what):
    with open(sys.argv[3], "a") as file:
        file.write(json.dumps(what) + "\\n")
    return "done"

if sys.argv[1] == "payments":
    @server.tool()
    def pay(amount: float, currency: str, to: str) -> str:
        return done([amount, to])
else:
    @server.tool()
    def create(title: str) -> str:
        return done(["create", title])

    @server.tool()
    def delete_ticket(id: int) -> str:
        return done(["delete", id])

server.run()
'''


class Use:
    """A project with the files of a page."""

    def __init__(self, portolan, folder, page):
        self.portolan, self.folder = portolan, folder
        self.page = (DOCS / page).read_text()
        self.project = folder / "project"
        self.environment = {**os.environ, "PORTOLAN_DATA_DIR": str(folder / "person")}
        files = re.findall(r"^`([^`\n]+)`[^\n]*(?:\n[^\n`]+)*:\n\n```(?:json|yaml)\n(.*?)```", self.page, re.S | re.M)
        assert len(files) >= 2, f"{page}: {files}"
        for name, text in files:
            file = self.project / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    def serve(self, words, key=None):
        """Replaces the program of the page's only server, and trusts it."""
        file = self.project / "servers.json"
        told = json.loads(file.read_text())
        [entry] = told["mcpServers"].values()
        entry["command"], entry["args"] = words[0], [*words[1:], *entry.get("args", [])]
        file.write_text(json.dumps(told))
        if key:
            self.environment[key] = "k3y-of-the-server"
        self.says("trust", "servers.json")

    def says(self, *words, code=0, **environment):
        done = subprocess.run(
            [self.portolan, *words],
            cwd=self.project,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def command(self, begin):
        """The page's command that begins so, as arguments."""
        [line] = re.findall(rf"^{re.escape(begin)}.*(?:\\\n.*)*", self.page, re.M)
        return line.replace("\\\n", " ").split()[1:]

    def client(self, words, **options):
        server = StdioServerParameters(command=self.portolan, args=words, cwd=self.project, env=self.environment)
        return Client(server, **options)


async def call(client, tool, **arguments):
    """Whether a call was made, and what its result says."""
    result = await client.call_tool(tool, arguments)
    return not result.is_error, result.content[0].text


async def passes(client, tool, **arguments):
    made, said = await call(client, tool, **arguments)
    assert made, f"{tool} {arguments}: {said}"
    return said


async def is_refused(client, why, tool, **arguments):
    made, said = await call(client, tool, **arguments)
    assert not made and "Refused: " in said and why in said, f"{tool} {arguments}: {said}"
    return said


async def begun(client, workflow):
    run = (await client.call_tool("Init", {"workflowType": workflow})).structured_content["run"]
    return (await client.call_tool("Start", {"run": run})).structured_content


async def moved(client, now):
    """Reports the present step as done."""
    moved = await client.call_tool("Next", now["actions"]["required"][0]["arguments"])
    assert not moved.is_error, moved
    return moved.structured_content


async def database(use, server):
    rows = sqlite3.connect(use.project / "shop.db")
    rows.executescript("create table sales (day text, token text); insert into sales values ('Monday', 'password=hunter2hunter2')")
    rows.close()
    use.serve([server])
    query = {"query": "SELECT * FROM sales LIMIT 100"}
    writing = [("write_query", {"query": "DELETE FROM sales"}), ("create_table", {"query": "CREATE TABLE a (b)"})]
    nowhere = [("read_query", query), ("list_tables", {}), ("describe_table", {"table_name": "sales"}), *writing]
    async with use.client(use.command("portolan gate --mcp")) as client:
        for tool, arguments in nowhere:
            await is_refused(client, "no open step allows", tool, **arguments)
        now = await begun(client, "report")
        for tool, arguments in nowhere:
            await is_refused(client, "no open step allows", tool, **arguments)
        (use.project / "report.md").write_text("Sales: 1")
        now = await moved(client, now)
        said = await passes(client, "read_query", **query)
        assert "Monday" in said and "hunter2" not in said, said
        await is_refused(client, "a query ends with `limit`", "read_query", query="SELECT * FROM sales")
        await is_refused(client, "a query ends with `limit`", "read_query", query="SELECT * FROM sales LIMIT 1000")
        await passes(client, "list_tables")
        await passes(client, "describe_table", table_name="sales")
        for tool, arguments in writing:
            await is_refused(client, "at `review`", tool, **arguments)
        for _ in range(19):
            await passes(client, "read_query", **query)
        await is_refused(client, "20 queries are enough", "read_query", **query)
        for resource in (await client.list_resources()).resources:
            if not str(resource.uri).startswith("portolan:"):
                try:
                    raise AssertionError(await client.read_resource(resource.uri))
                except Exception as error:
                    assert "Refused" in str(error), error
        await moved(client, now)
        await is_refused(client, "no open step allows", "read_query", **query)
    rows = sqlite3.connect(use.project / "shop.db")
    assert rows.execute("select count(*) from sales").fetchall() == [(1,)]
    print("a database that is read in review only: well")


async def payment(use, server):
    use.serve([*server, "payments", "PAYMENT_KEY", str(use.folder / "paid")], "PAYMENT_KEY")
    words = use.command("portolan gate --mcp")
    to, answers, asked = "DE02120300000000202051", ["refuse", "allow"], []

    async def dialog(_context, params):
        asked.append(params.message)
        return ElicitResult(action="accept", content={"answer": answers.pop(0)})

    def pay(amount, **other):
        return {"amount": amount, "currency": "EUR", "to": to, **other}

    async with use.client(words, elicitation_callback=dialog) as client:
        await is_refused(client, "at the step `pay` of a run", "pay", **pay(5))
        now = await begun(client, "invoices")
        await is_refused(client, "at `check`", "pay", **pay(5))
        (use.project / "pay.csv").write_text("5\n")
        await moved(client, now)
        await passes(client, "pay", **pay(5))
        await is_refused(client, "an amount in EUR, and an IBAN", "pay", **pay(5, currency="USD"))
        await is_refused(client, "an amount in EUR, and an IBAN", "pay", **pay(5, to="me"))
        await is_refused(client, "an amount in EUR, and an IBAN", "pay", **pay(-5))
        assert not asked, asked
        await is_refused(client, "a person confirms payments", "pay", **pay(250))
        await passes(client, "pay", **pay(250))
        assert len(asked) == 2 and all("250" in message and to in message for message in asked), asked
        await is_refused(client, "a run spends at most 500", "pay", **pay(600))
        assert len(asked) == 2, "nobody is asked about it"
    # The run binds this client, too: it has no dialog.
    async with use.client([*words, "--run", run_of(use)]) as client:
        said = await is_refused(client, "a person confirms payments", "pay", **pay(200))
        token = re.search(r"portolan gate allow (\w+)", said).group(1)
        waiting = use.says("gate", "waiting")
        assert token in waiting and '"amount": 200' in waiting and to in waiting, waiting
        use.says("gate", "allow", token, "--yes", code=2, CLAUDECODE="1")
        await is_refused(client, "a person confirms payments", "pay", **pay(200))
        use.says("gate", "allow", token, "--yes")
        await is_refused(client, "a person confirms payments", "pay", **pay(201))
        await passes(client, "pay", **pay(200))
        await is_refused(client, "a run spends at most 500", "pay", **pay(46))
        await passes(client, "pay", **pay(45))
    paid = [json.loads(line) for line in (use.folder / "paid").read_text().splitlines()]
    assert paid == [[5.0, to], [250.0, to], [200.0, to], [45.0, to]], paid
    log = (use.project / ".portolan/flow-events.jsonl").read_text()
    assert '"amount":250' in log and to not in log and "k3y" not in log, "the sums are in the log, and nothing else"
    print("a payment that a person confirms: well")


def run_of(use):
    [run] = json.loads(use.says("runs", "list", "--format", "json"))["runs"]
    return run["run"]


async def team(use, server):
    use.serve([*server, "tickets", "TICKET_KEY", str(use.folder / "done")], "TICKET_KEY")
    file = str(use.folder / "tokens")
    tokens = {}
    for name in ("ada", "nightly"):
        words = [file if word == "/etc/portolan/tokens" else word for word in use.command(f"portolan token new {name}")]
        tokens[name] = json.loads(use.says(*words, "--format", "json"))["token"]
    words = use.command("portolan gate --mcp")
    words = words[: words.index("--http")] + ["--http", "127.0.0.1:0", "--tokens", file, "--format", "json"]
    serving = subprocess.Popen(
        [use.portolan, *words], cwd=use.project, env=use.environment, stdout=subprocess.PIPE, text=True
    )
    try:
        said = ""
        while not said.endswith("}\n"):
            line = serving.stdout.readline()
            assert line, "the gate has ended"
            said += line
        address = json.loads(said)["address"]

        def client(http):
            return Client(streamable_http_client(address, http_client=http))

        def http(name):
            return httpx2.AsyncClient(headers={"Authorization": f"Bearer {tokens[name]}"}, timeout=60)

        async with http("nightly") as connection, client(connection) as nightly:
            assert not {"create", "delete_ticket"} & {tool.name for tool in (await nightly.list_tools()).tools}
            try:
                refused = await nightly.call_tool("create", {"title": "x"})
                assert refused.is_error, refused
            except Exception as error:
                assert "create" in str(error), error
        async with http("ada") as connection, client(connection) as ada:
            await passes(ada, "create", title="mend the door")
            await is_refused(ada, "tickets are closed, not deleted", "delete_ticket", id=1)
            metrics = (await connection.get(address.replace("/mcp", "/metrics"))).text
            assert re.search(r'gen_ai_tool_name="create"', metrics), metrics
        log = use.says("gate", "log")
        assert "ada (" in log and "k3y" not in log, log
        use.says("token", "remove", "ada", "--file", file)
        async with http("ada") as connection:
            assert (await connection.post(address, json={})).status_code == 401
    finally:
        serving.terminate()
        serving.wait()
    done = [json.loads(line) for line in (use.folder / "done").read_text().splitlines()]
    assert done == [["create", "mend the door"]], done
    print("the servers of a team: well")


def database_server(folder):
    """The official server for SQLite, which needs a version of the SDK of its own."""
    venv.create(folder, with_pip=True)
    words = ["install", "--quiet", "--disable-pip-version-check", "mcp-server-sqlite==2025.4.25", "mcp==1.30.0"]
    done = subprocess.run([folder / "bin/pip", *words], capture_output=True, text=True)
    if done.returncode == 0:
        return str(folder / "bin/mcp-server-sqlite")
    print(f"NOT CHECKED: the server of the database cannot be installed here: {done.stderr.strip()[-300:]}")
    return None


async def main(portolan):
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch).resolve()
        (scratch / "server.py").write_text(SERVERS)
        server = [sys.executable, str(scratch / "server.py")]
        await payment(Use(portolan, scratch / "payment", "gate-payment.md"), server)
        await team(Use(portolan, scratch / "team", "gate-team.md"), server)
        program = database_server(scratch / "venv")
        if program:
            await database(Use(portolan, scratch / "database", "gate-database.md"), program)


if __name__ == "__main__":
    asyncio.run(main(str(Path(sys.argv[1]).resolve())))

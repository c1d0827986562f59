"""Walks the MCP face of Portolan with the Python SDK, in both of its modes.

    pip install mcp==2.3.0
    python crates/portolan/tests/clients/walk.py target/debug/portolan

Over standard input and output and over HTTP, in each mode (`auto` speaks the newest revision, which has no sessions;
`legacy` shakes hands), it lists the tools, calls each of them, has an error answered, leads every workflow of the catalogue, without its checks, to its end by sending offered actions back,
and has the person behind the client asked. The SDK holds each answer against the tool's output schema.

Everything happens in a temporary folder. Exit code 0: all went well; 1: something did not, and it says what.
"""

import asyncio
import contextlib
import json
import os
import sys
import tempfile
from pathlib import Path

import httpx2
import mcp_types as types
from believed import believe
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

TOOLS = {
    "Init", "Start", "Current", "Next", "ListWorkflows", "SelectWorkflow",
    "Diagram", "CopyWorkflows", "CopyAgents", "LoadWorkflows", "ListCatalog",
}  # fmt: skip

ASKING = {
    "id": "asking",
    "nodes": {
        "start": {"type": "start"},
        "ask": {"type": "end", "result": "blocked", "escalation": "hitl", "description": "May it be published?"},
        "done": {"type": "end", "result": "success"},
    },
    "edges": [{"from": "start", "to": "ask"}, {"from": "ask", "to": "done", "on": "passed"}],
}


class Walker:
    """A client, and what it expects of every answer."""

    def __init__(self, client):
        self.client = client

    async def call(self, tool, arguments, refused=None):
        answer = await self.client.call_tool(tool, arguments)
        content = answer.structured_content
        assert content == json.loads(answer.content[0].text), f"{tool}: text and content differ"
        assert bool(answer.is_error) == (refused is not None), f"{tool} {arguments}: {content}"
        assert content.get("error") == refused, f"{tool} {arguments}: {content}"
        return content

    async def lead(self, init):
        """Sends back what is offered first, until nothing is."""
        now = await self.call("Init", init)
        run = {"run": now["run"]}
        while now["state"] != "ended":
            if not now["actions"]["required"]:
                now = await self.call("Current", run)
            action = now["actions"]["required"][0]
            now = await self.call(action["tool"], action["arguments"])
        return now


@contextlib.asynccontextmanager
async def over_stdio(server, project, environment, *arguments):
    """What a client connects to: a program."""
    yield StdioServerParameters(command=server, args=["serve", *arguments], cwd=project, env=environment)


@contextlib.asynccontextmanager
async def over_http(server, project, environment, *arguments):
    """What a client connects to: a server at an address, with its token."""
    serving = await asyncio.create_subprocess_exec(
        server, "serve", "--http", "127.0.0.1:0", *arguments,
        cwd=project, env=environment, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        address = (await serving.stdout.readline()).decode().strip()
        token = (project / ".portolan/serve.token").read_text()
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            yield streamable_http_client(address, http_client=http)
    finally:
        serving.terminate()
        assert await serving.wait() == 0, "the server ends well when it is asked to"


async def walk(server, project, mode, over):
    asked = []

    async def person(_context, question):
        asked.append(question.message)
        return types.ElicitResult(action="accept", content={"answer": "passed"})

    @contextlib.asynccontextmanager
    async def connect(*arguments):
        environment = {**os.environ, "PORTOLAN_DATA_DIR": str(project.parent / "person")}
        async with over(server, project, environment, *arguments) as transport:
            async with Client(transport, mode=mode, elicitation_callback=person) as client:
                yield client

    async with connect() as client:
        walker = Walker(client)
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
        await every_tool(walker, project, mode)
        catalogue = (await walker.call("ListWorkflows", {"source": "catalog"}))["workflows"]
        # Phases are left when a repository shows it: no obedience is enough.
        phases = {"delivery", "sdlc-simple"}
        assert phases <= {workflow["id"] for workflow in catalogue}
        walked = [workflow for workflow in catalogue if workflow["id"] not in phases]
        believe(server, project, *(workflow["id"] for workflow in walked))
        for workflow in walked:
            ended = await walker.lead({"workflowType": workflow["id"]})
            assert ended["terminal"] == "success", f"{workflow['id']}: {ended}"
    assert not asked, "where an answer may be relayed, nobody is asked"

    async with connect("--human", "verified") as client:
        walker = Walker(client)
        now = await walker.call("Init", {"workflowType": "asking"})
        run = {"run": now["run"]}
        now = await walker.call("Start", run)
        if over is over_http:
            # Any program that has the token could be the client: its answer is nobody's.
            await walker.call("Next", now["actions"]["blocked"][0]["arguments"], refused="needs_person")
            assert not asked, asked
        else:
            now = await walker.call("Next", now["actions"]["required"][0]["arguments"])
            assert now["terminal"] == "success", now
            assert len(asked) == 1 and "May it be published?" in asked[0], asked


async def every_tool(walker, project, mode):
    task = {"taskFilePath": str(project / f"task-{mode}.json")}
    await walker.call("Init", {**task, "workflowType": "quick-task", "description": "a walk"})
    await walker.call("Start", task)
    await walker.call("Current", task)
    await walker.call("Next", {**task, "result": "maybe"}, refused="no_matching_edge")
    await walker.call("Next", {**task, "result": "passed", "note": "done"}, refused="bad_outputs")
    goal = {"expected": "it says hello", "check": "hello", "files": ["hello.py"]}
    await walker.call("Next", {**task, "result": "passed", "note": "done", "outputs": {"goal": goal}})
    await walker.call("ListWorkflows", {})
    await walker.call("SelectWorkflow", {})
    await walker.call("Diagram", {"workflowType": "quick-task", "filePath": f"{mode}.md"})
    await walker.call("CopyWorkflows", {"workflowIds": ["execute"], "force": True})
    await walker.call("CopyAgents", {"agentIds": ["tester"], "targetDir": "agents"})
    await walker.call("LoadWorkflows", {})
    await walker.call("ListCatalog", {})
    await walker.call("Init", {"workflowType": "../../nowhere"}, refused="bad_id")
    await walker.call("Nothing", {}, refused="unknown_tool")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    server = str(Path(sys.argv[1]).resolve())
    for over, mode in [(over, mode) for over in (over_stdio, over_http) for mode in ("auto", "legacy")]:
        with tempfile.TemporaryDirectory() as folder:
            project = Path(folder) / "project"
            (project / ".flow/workflows").mkdir(parents=True)
            (project / ".flow/workflows/asking.json").write_text(json.dumps(ASKING))
            asyncio.run(walk(server, project, mode, over))
        print(f"{over.__name__}, {mode}: well")


if __name__ == "__main__":
    main()

"""Calls graphs that Portolan serves with the Python SDK, in both of its modes.

    pip install mcp==2.3.0
    python crates/portolan/tests/clients/graph.py target/debug/portolan

In each mode (`auto` speaks the newest revision, which has no sessions; `legacy` shakes hands) it lists the tools, calls
them with progress and without, one after another and many at once, has failures answered, and is told when the file
changes. The SDK holds each answer against the tool's output schema.

Everything happens in a temporary folder. Exit code 0: all went well; 1: something did not, and it says what.
"""

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path

from mcp import MCPError
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

HEAD = """
version: "1.0"
server: { name: toolbox, version: "1.2.3", title: Tool box, instructions: Use it with care. }
tools:
"""

ADD = """
  - name: add
    description: Adds
    inputSchema:
      type: object
      properties: { a: { type: number }, b: { type: number } }
      required: [a, b]
      additionalProperties: false
    outputSchema: { type: object, properties: { sum: { type: number } }, required: [sum] }
    nodes:
      - { id: entry, type: entry, next: ask }
      - { id: ask, type: mcp, server: apart, tool: add, args: { a: { expr: $.entry.a }, b: { expr: $.entry.b } }, next: exit }
      - { id: exit, type: exit }
"""

OTHERS = """
  - name: words
    description: Splits a text
    inputSchema: { type: object, properties: { text: { type: string } }, required: [text] }
    outputSchema: { type: array, items: { $ref: "#/$defs/word" }, $defs: { word: { type: string } } }
    nodes:
      - { id: entry, type: entry, next: ask }
      - { id: ask, type: transform, transform: { expr: '$split($.entry.text, " ")' }, next: exit }
      - { id: exit, type: exit }
  - name: fail
    description: Fails
    inputSchema: { type: object }
    outputSchema: { type: object, properties: { sum: { type: number } }, required: [sum] }
    nodes:
      - { id: entry, type: entry, next: ask }
      - { id: ask, type: mcp, server: apart, tool: fail, args: { message: no such folder }, next: exit }
      - { id: exit, type: exit }
"""


async def call(client, tool, arguments, **more):
    answer = await client.call_tool(tool, arguments, **more)
    assert not answer.is_error, f"{tool} {arguments}: {answer.content}"
    return answer


async def walk(server, project, mode):
    graph = project / "g.yaml"
    graph.write_text(HEAD + ADD + OTHERS)
    environment = {**os.environ, "PORTOLAN_DATA_DIR": str(project.parent / "person")}
    parameters = StdioServerParameters(
        command=server, args=["serve", "g.yaml", "--mcp", "mcp.json"], cwd=project, env=environment
    )
    async with Client(parameters, mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == ["add", "words", "fail"], list(tools)
        assert tools["add"].output_schema["required"] == ["sum"]

        answer = await call(client, "add", {"a": 1, "b": 2})
        assert answer.structured_content == {"sum": 3} == json.loads(answer.content[0].text)
        answer = await call(client, "words", {"text": "one two"})
        assert answer.structured_content == {"result": ["one", "two"]}, answer
        assert json.loads(answer.content[0].text) == ["one", "two"]

        told = []

        async def progress(done, total, message):
            told.append((done, message))

        await call(client, "add", {"a": 1, "b": 2}, progress_callback=progress)
        assert told == [(1, "entry (entry)"), (2, "ask (mcp)"), (3, "exit (exit)")], told

        sums = await asyncio.gather(*[call(client, "add", {"a": n, "b": 1000}) for n in range(32)])
        assert [answer.structured_content["sum"] for answer in sums] == [1000 + n for n in range(32)]

        failed = await client.call_tool("fail", {})
        assert failed.is_error and failed.content[0].text == "`ask` failed (tool-error): no such folder", failed
        bad = await client.call_tool("add", {"a": "one", "c": 1})
        assert bad.is_error and "/a" in bad.content[0].text, bad
        try:
            await client.call_tool("ad", {})
            raise AssertionError("there is no such tool")
        except MCPError as error:
            assert "did you mean `add`?" in str(error), error

        graph.write_text(HEAD + ADD.replace("name: add", "name: plus"))
        assert [tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools] == ["plus"]
        answer = await call(client, "plus", {"a": 1, "b": 2})
        assert answer.structured_content == {"sum": 3}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    server = str(Path(sys.argv[1]).resolve())
    for mode in ["auto", "legacy"]:
        with tempfile.TemporaryDirectory() as folder:
            project = Path(folder) / "project"
            project.mkdir()
            servers = {"mcpServers": {"apart": {"command": server, "args": ["builtin", "echo"]}}}
            (project / "mcp.json").write_text(json.dumps(servers))
            asyncio.run(walk(server, project, mode))
        print(f"{mode}: well")


if __name__ == "__main__":
    main()

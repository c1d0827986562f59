"""The client that the official conformance suite holds to the specification: `portolan gate` before the suite's server.

    python3 conformance_client.py target/debug/portolan http://localhost:1234/mcp

It lists what the gate offers and asks for all of it once, with the arguments that the suite wants, or with the least that
a tool's schema asks for. A question of the server gets the defaults of its form. What the gate withholds is not asked for.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# The tool that wants the schema of another one as it was listed.
ECHO, ECHOED = "json_schema_echo", "json_schema_2020_12_tool"


class Gate:
    """A gate on standard input and output."""

    def __init__(self, program, url, folder):
        servers = folder / "servers.json"
        servers.write_text(json.dumps({"mcpServers": {"suite": {"type": "http", "url": url}}}))
        project = folder / "project"
        project.mkdir()
        words = [program, "gate", "--mcp", str(servers), "--toolset", "none"]
        environment = {**os.environ, "HOME": str(folder), "PORTOLAN_DATA_DIR": str(folder / "person")}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(words, cwd=project, env=environment, **pipes)
        self.asked = 0
        client = {"name": "conformance", "version": "1"}
        asks = {"elicitation": {"form": {}}}
        self.offers = self.ask("initialize", protocolVersion="2025-11-25", capabilities=asks, clientInfo=client)
        self.send(method="notifications/initialized")

    def send(self, **message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, **params):
        self.asked += 1
        self.send(id=self.asked, method=method, params=params)
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self.asked and "method" not in message:
                return message.get("result") or message
            if message.get("method") == "elicitation/create":
                self.send(id=message["id"], result=answer(message["params"]["requestedSchema"]))
        raise SystemExit(f"the gate ended before it answered {method}")

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=10)


VALUES = {"string": "text", "number": 5, "integer": 5, "boolean": True, "array": [], "object": {}}


def answer(form):
    """What a person would answer who leaves everything as it is."""
    fields = form["properties"].items()
    content = {name: field.get("default", VALUES.get(field.get("type"), "text")) for name, field in fields}
    return {"action": "accept", "content": content}


def arguments(tool, tools, wanted):
    if tool["name"] in wanted:
        return wanted[tool["name"]]
    if tool["name"] == ECHO:
        return {"schema": next(other["inputSchema"] for other in tools if other["name"] == ECHOED)}
    schema = tool["inputSchema"]
    properties = schema.get("properties", {})
    return {name: VALUES.get(properties.get(name, {}).get("type"), "text") for name in schema.get("required", [])}


def main():
    program, url = sys.argv[1:]
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    wanted = {call["name"]: call["arguments"] for call in context.get("toolCalls", [])}
    with tempfile.TemporaryDirectory() as folder:
        gate = Gate(program, url, Path(folder).resolve())
        tools = gate.ask("tools/list").get("tools", [])
        for tool in tools:
            print(tool["name"], gate.ask("tools/call", name=tool["name"], arguments=arguments(tool, tools, wanted)))
        for resource in gate.ask("resources/list").get("resources", []):
            print(resource["uri"], gate.ask("resources/read", uri=resource["uri"]))
        for prompt in gate.ask("prompts/list").get("prompts", []):
            print(prompt["name"], gate.ask("prompts/get", name=prompt["name"], arguments={}))
        gate.end()


if __name__ == "__main__":
    main()

"""The two ways that the agent's calls go: through Claude Code with Portolan's hooks, and through a bare client of the gate."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from agent import GUARDS, SERVERS, WORKFLOWS, person_agrees
from interfaces import Use, text_of
from mcp import types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from model import Model
from programs import ClaudeCode

PROMPT = "The whole work."
MOST_SECONDS = 300


class Heard(NamedTuple):
    """What became of an attempt: what the agent heard, as text and as data if there is any, the new lines of the log, and the
    calls that reached a server."""

    text: str
    data: dict
    lines: list
    reached: list


class Place:
    """A project on a branch of its own, and what can be seen of it from outside."""

    def __init__(self, folder):
        self.folder, self.project, self.calls = folder, folder / "project", folder / "calls"
        self.log = self.project / ".portolan/flow-events.jsonl"
        for new in (folder / "home", self.project / ".portolan", self.project / ".flow/workflows"):
            new.mkdir(parents=True)
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "LANG": "C.UTF-8"}
        self.environment |= {"PORTOLAN_DATA_DIR": str(folder / "person"), "GIT_CONFIG_NOSYSTEM": "1"}
        for who in ("AUTHOR", "COMMITTER"):
            self.environment |= {f"GIT_{who}_NAME": "Ada", f"GIT_{who}_EMAIL": "ada@example.org"}
        for name, workflow in WORKFLOWS.items():
            (self.project / f".flow/workflows/{name}.json").write_text(json.dumps(workflow))
        (self.project / ".portolan/plugins.yaml").write_text(GUARDS)
        for line in ("init -q -b main .", "add -A", "commit -q -m chore:begin", "switch -q -c feat/1-clean-up"):
            self.run(["git", *line.split()])

    def run(self, words):
        done = subprocess.run(
            words, cwd=self.project, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=MOST_SECONDS,
        )  # fmt: skip
        assert done.returncode == 0, f"{words[:2]}: {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    def servers(self, file, *names):
        """Writes a file of servers as hosts and the gate read it."""
        program = str(Path(__file__).resolve().parent / "server.py")
        entries = {name: {"command": sys.executable, "args": [program, name, str(self.calls)]} for name in names}
        file.write_text(json.dumps({"mcpServers": entries}))
        return str(file)

    def arguments(self, attempt, texts):
        """The arguments of an attempt after these answers."""
        own = lambda value: value.replace("PROJECT", str(self.project)) if isinstance(value, str) else value  # noqa: E731
        given = {name: own(value) for name, value in attempt.given.items()}
        if attempt.tool not in ("portolan/Start", "portolan/Next"):
            return given
        told = (answer(text) for text in reversed(texts))
        now = next(said for said in told if said.get("position", {}).get("workflow") == attempt.at)
        return {"run": now["run"], "revision": now["position"]["revision"], **given}

    def seen(self):
        """How many lines the log has, and how many calls have reached a server."""
        return len(lines(self.log)), len(lines(self.calls))

    def heard(self, text, data, before, after):
        said, calls = lines(self.log)[before[0] : after[0]], lines(self.calls)[before[1] : after[1]]
        return Heard(text, data, said, [call for call in calls if not call[0].startswith("person/")])


def lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def answer(text):
    """An answer of Portolan's own tools, as data, whatever the host says after it. Empty if it is none."""
    return json.JSONDecoder().raw_decode(text)[0] if text.startswith('{"') else {}


def told(body):
    """What a model was told of each of its calls, by a request: the result, and what the hook told it beside that."""
    results = []
    for message in json.loads(body)["messages"]:
        content = message["content"]
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if part["type"] == "tool_result":
                results.append(text_of(part["content"]))
            elif part["type"] == "text" and "hook additional context" in part["text"] and results:
                results[-1] += "\n" + part["text"]
    return results


def through_hooks(folder, portolan, claude, attempts):
    """Claude Code, whose project has the servers and the hooks."""
    place, program = Place(folder), ClaudeCode()
    place.servers(place.project / ".mcp.json", *SERVERS)
    place.run([str(portolan), "install", program.name, "--yes"])
    seen = {}

    def move(number, attempt):
        def made(texts):
            # The attempt before is over, with its hooks. A request that is sent again finds what was seen at first.
            seen.setdefault(number, place.seen())
            return Use(spelt_by_claude(attempt.tool), **place.arguments(attempt, texts))

        return made

    moves = [(number, move(number, attempt)) for number, attempt in enumerate(attempts)]
    with Model({PROMPT: moves}) as model:
        place.environment |= program.prepare(folder / "home", place.project, portolan, model.url)
        servers = ["--mcp-config", ".mcp.json", place.servers(folder / "person.json", "person")]
        allowed = ",".join(spelt_by_claude(f"{server}/*") for server in [*SERVERS, "portolan"])
        person = ["--allowedTools", allowed, "--permission-prompt-tool", "mcp__person__decide"]
        said = place.run([str(claude), "-p", PROMPT, *person, *servers, "--output-format", "stream-json", "--verbose"])
    assert not model.faults, f"the script has failed: {model.faults}\n{said[-3000:]}"
    texts = max((told(body) for body in model.heard), key=len)
    assert len(texts) == len(attempts), f"{len(texts)} attempts were made instead of {len(attempts)}\n{said[-3000:]}"
    seen[len(attempts)] = place.seen()
    return place, [place.heard(text, {}, seen[number], seen[number + 1]) for number, text in enumerate(texts)]


def spelt_by_claude(tool):
    """Claude Code's name of a tool: it replaces what the interface of its model does not allow in names."""
    server, name = (re.sub(r"[^\w*-]", "_", part, flags=re.ASCII) for part in tool.split("/"))
    return f"mcp__{server}__{name}"


async def through_gate(folder, portolan, attempts):
    """A client of the SDK, with only the gate before the servers."""
    place, texts, heard, now = Place(folder), [], [], {}
    gate = ["gate", "--mcp", place.servers(folder / "servers.json", *SERVERS)]
    parameters = StdioServerParameters(command=str(portolan), args=gate, cwd=place.project, env=place.environment)

    async def person(_context, _question):
        return types.ElicitResult(action="accept", content={"answer": "allow" if person_agrees(now) else "refuse"})

    async with Client(parameters, elicitation_callback=person) as client:
        offered = {tool.name for tool in (await client.list_tools()).tools}
        for attempt in attempts:
            now, before = place.arguments(attempt, texts), place.seen()
            text, data = await result_of(client, spelt_by_gate(attempt.tool, offered), now)
            texts.append(text)
            heard.append(place.heard(text, data, before, place.seen()))
    return place, heard


def spelt_by_gate(tool, offered):
    """The gate's name of a tool: with its server, where another server has a tool of this name."""
    server, name = tool.split("/")
    return f"{server}_{name}" if f"{server}_{name}" in offered else name


async def result_of(client, tool, given):
    """The text of a result, and its data."""
    try:
        result = await client.call_tool(tool, given)
    except MCPError as error:
        return str(error), {}
    return "\n".join(part.text for part in result.content), result.structured_content or {}

"""Walks workflows that others have written over MCP, with the Python SDK: they are no part of this repository.

    pip install mcp==2.3.0
    WORKFLOW_CORPORA=FOLDER python crates/portolan/tests/clients/corpora.py target/debug/portolan

`WORKFLOW_CORPORA` is a folder with folders of workflows that lie beside each other. Each workflow is led to an end by an
agent that does what is required and answers each question with one option after the other, and by as many as `CORPUS_WALKS`
says (1) that do anything that is offered, with values or without. Every answer has to be taken, and every run has to end.

Exit code 0: all went well; 1: something did not, and it says what.
"""

import asyncio
import os
import random
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

# After so many calls a run counts as one that does not end.
MOST_CALLS = 20_000


class Agent:
    """Does what is required, and answers each question with one option after the other."""

    def __init__(self):
        self.asked = Counter()

    def action(self, now):
        return now["availableActions"]["required"][0]

    def option(self, checkpoint):
        options = checkpoint["options"]
        self.asked[checkpoint["id"]] += 1
        return options[(self.asked[checkpoint["id"]] - 1) % len(options)]["id"]

    def outputs(self, names):
        return {}


class Chance(Agent):
    """Does anything that is offered; ending early would show little."""

    def __init__(self, seed):
        super().__init__()
        self.random = random.Random(seed)

    def action(self, now):
        offered = now["availableActions"]["required"] + now["availableActions"]["optional"]
        on = [action for action in offered if action["tool"] != "end_workflow"]
        return self.random.choice(on or offered)

    def option(self, checkpoint):
        return self.random.choice(checkpoint["options"])["id"]

    def outputs(self, names):
        values = ["", "full", 0, 3, True, False, [], ["a", "b"], {"id": 1}]
        return {name: self.random.choice(values) for name in names if self.random.random() < 0.25}


class Walker:
    def __init__(self, client):
        self.client = client

    async def call(self, tool, arguments):
        answer = await self.client.call_tool(tool, arguments)
        return answer.is_error, answer.structured_content

    async def expect(self, tool, arguments):
        is_refused, content = await self.call(tool, arguments)
        assert not is_refused, f"{tool} {arguments}: {content}"
        return content

    async def begin(self, workflow):
        is_refused, content = await self.call("start_workflow", {"workflow_id": workflow})
        if not is_refused:
            return content
        # What is missing is said.
        required = re.findall("`([^`]+)` is required", content["error"]["message"])
        given = {name: "as it is" for name in required}
        return await self.expect("start_workflow", {"workflow_id": workflow, "variables": given})

    async def lead(self, workflow, agent):
        """Leads a run to its end; says in how many calls, and what is said there."""
        now = await self.begin(workflow)
        for calls in range(MOST_CALLS):
            if now.get("complete"):
                return calls, now["message"].splitlines()[0]
            now = await self.go_on(now, agent)
        raise AssertionError(f"{workflow} does not end: {now['message']}")

    async def go_on(self, now, agent):
        action = agent.action(now)
        holes = action.get("fill", [])
        given = {name: "as it was asked for" for name in holes if name not in ["option_id", "outputs", "options"]}
        if "option_id" in holes:
            given["option_id"] = agent.option(now["checkpoint"])
        if "options" in holes:
            given["options"] = ["yes", "no"]
        arguments = {**action["arguments"], **given}
        outputs = agent.outputs(taken(now["message"])) if "outputs" in holes else {}
        if outputs:
            is_refused, content = await self.call(action["tool"], {**arguments, "outputs": outputs})
            # A value may be of another type than is wanted, which changes nothing.
            if not is_refused:
                return content
            assert content["position"] == now["position"], f"a refusal moves: {content}"
        return await self.expect(action["tool"], arguments)


def taken(message):
    """The values that a step takes."""
    lines = [line.removeprefix("Outputs: ") for line in message.splitlines() if line.startswith("Outputs: ")]
    return [name for line in lines for name in line.split(", ")]


async def walk(server, corpus, project, walks):
    data = {**os.environ, "PORTOLAN_DATA_DIR": str(project.parent / "person")}
    arguments = ["serve", "--toolset", "navigate", "--lenient", str(corpus)]
    led = 0
    async with Client(StdioServerParameters(command=server, args=arguments, cwd=project, env=data)) as client:
        walker = Walker(client)
        listed = (await walker.expect("list_workflows", {}))["workflows"]
        for workflow in [line["id"] for line in listed if line["source"] == "project"]:
            calls, end = await walker.lead(workflow, Agent())
            most = [(await walker.lead(workflow, Chance(seed)))[0] for seed in range(walks)]
            print(f"{workflow}: obeyed in {calls} calls ({end}); {walks} by chance, at most {max(most, default=0)} calls")
            led += 1
    assert led, f"{corpus} has workflows"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if "WORKFLOW_CORPORA" not in os.environ:
        print("NOT CHECKED: `WORKFLOW_CORPORA` names no folder")
        return
    server = str(Path(sys.argv[1]).resolve())
    walks = int(os.environ.get("CORPUS_WALKS", "1"))
    for corpus in sorted(path for path in Path(os.environ["WORKFLOW_CORPORA"]).iterdir() if path.is_dir()):
        with tempfile.TemporaryDirectory() as folder:
            project = Path(folder) / "project"
            project.mkdir()
            asyncio.run(walk(server, corpus.resolve(), project, walks))


if __name__ == "__main__":
    main()

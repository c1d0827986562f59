"""Walks the navigation tools of Portolan with the Python SDK, in both of its modes.

    pip install mcp==2.3.0
    python crates/portolan/tests/clients/navigate.py target/debug/portolan

In each mode (`auto` speaks the newest revision, which has no sessions; `legacy` shakes hands) it lists the tools, leads
the examples and two workflows of the catalogue to their ends by sending offered actions back, by handles and by tokens, is
refused where it should be, and has the person behind the client asked. The SDK holds each answer against the tool's
output schema.

Everything happens in a temporary folder. Exit code 0: all went well; 1: something did not, and it says what.
"""

import asyncio
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import mcp_types as types
from believed import believe
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

EXAMPLES = Path(__file__).resolve().parents[4] / "examples/activities"

TOOLS = {
    "list_workflows", "start_workflow", "get_position", "complete_step",
    "respond_to_checkpoint", "raise_checkpoint", "end_workflow",
}  # fmt: skip

WALKS = {
    "work-package": {"ticket": "AB-12"},
    "follow-up": {"leftovers": ["docs", "an old flag"]},
    "release": {},
    "quick-task": {},
    "bug-fix": {},
}

# What it reports of the variables that a message asks for.
REPORTS = {
    "unclear": 0, "design": {"summary": "one pass"}, "public_api": True, "risks": ["slow input"],
    "tasks": [{"title": "the parser", "checks": ["unit"]}], "branch": "ab-12", "tests_pass": True,
    "open_comments": 0, "leftovers": ["docs"], "filed": 1,
}  # fmt: skip

MOST_CALLS = 250


class Walker:
    """A client, and what it expects of every answer."""

    def __init__(self, client):
        self.client = client

    async def call(self, tool, arguments, refused=None):
        answer = await self.client.call_tool(tool, arguments)
        content = answer.structured_content
        assert content == json.loads(answer.content[0].text), f"{tool}: text and content differ"
        assert bool(answer.is_error) == (refused is not None), f"{tool} {arguments}: {content}"
        assert content["success"] == (refused is None), f"{tool} {arguments}: {content}"
        assert content.get("error", {}).get("code") == refused, f"{tool} {arguments}: {content}"
        return content

    async def send(self, now, action, **given):
        """Sends an action back as it stands, with its holes filled."""
        known = {"option_id": option(now), "outputs": outputs(now), **given}
        fill = {name: known.get(name, "as it was asked for") for name in action.get("fill", [])}
        return await self.call(action["tool"], {**action["arguments"], **fill})

    async def lead(self, workflow, variables):
        """Does what is required until nothing is."""
        now = await self.call("start_workflow", {"workflow_id": workflow, "variables": variables})
        for _ in range(MOST_CALLS):
            if now.get("complete"):
                return now
            looked = {"workflow_id": workflow, "state": now["state"]}
            assert await self.call("get_position", looked) == now, "reading changes something"
            now = await self.send(now, now["availableActions"]["required"][0])
        raise AssertionError(f"{workflow} does not end: {now}")


def option(now):
    options = now.get("checkpoint", {}).get("options") or [{"id": None}]
    return options[0]["id"]


def outputs(now):
    lines = [line for line in now["message"].splitlines() if line.startswith("Outputs: ")]
    names = [name for line in lines for name in line.removeprefix("Outputs: ").split(", ")]
    return {name: REPORTS[name] for name in names if name in REPORTS}


async def walk(server, project, mode):
    asked = []

    async def person(_context, question):
        asked.append(question.message)
        return types.ElicitResult(action="accept", content={"answer": "jira", "note": "as always"})

    def connect(*arguments):
        environment = {**os.environ, "PORTOLAN_DATA_DIR": str(project.parent / "person")}
        parameters = StdioServerParameters(
            command=server, args=["serve", "--toolset", "navigate", *arguments], cwd=project, env=environment
        )
        return Client(parameters, mode=mode, elicitation_callback=person)

    for arguments, is_state in [
        ([], lambda state: len(state) <= 12),
        (["--stateless"], lambda state: state.startswith("v1.gzB64.")),
        (["--stateless", "--ledger"], lambda state: state.startswith("v1.gzB64.")),
    ]:
        async with connect(*arguments) as client:
            walker = Walker(client)
            assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
            listed = (await walker.call("list_workflows", {}))["workflows"]
            assert WALKS.keys() <= {line["id"] for line in listed if "broken" not in line}, listed
            for workflow, variables in WALKS.items():
                ended = await walker.lead(workflow, variables)
                assert "success" in ended["message"] and is_state(ended["state"]), f"{workflow}: {ended}"
            await refusals(walker, arguments)
    assert not asked, "where an answer may be passed on, nobody is asked"

    async with connect("--human", "verified") as client:
        await verified(Walker(client))
    assert asked == ["Where is AB-12 tracked?"], asked


async def refusals(walker, arguments):
    await walker.call("get_workflow", {"workflow_id": "release"}, refused="unknown_tool")
    await walker.call("start_workflow", {"workflow_id": "../release"}, refused="bad_id")
    await walker.call("start_workflow", {"workflow_id": "work-package"}, refused="bad_input")
    first = await walker.call("start_workflow", {"workflow_id": "follow-up"})
    known = {"workflow_id": "follow-up", "state": first["state"]}
    refused = await walker.call("complete_step", {**known, "step_id": "count"}, refused="step_mismatch")
    for part in ["position", "availableActions", "state"]:
        assert refused[part] == first[part], "a refusal shows where the run is"
    await walker.call("get_position", {**known, "workflow_id": "release"}, refused="workflow_mismatch")
    await walker.call("get_position", {**known, "state": "v1.gzB64.AAAA"}, refused="damaged")
    raised = {**known, "question": "Go on?", "options": ["yes", "no"]}
    asking = await walker.call("raise_checkpoint", raised)
    blocked = asking["availableActions"]["blocked"][0]
    assert blocked["tool"] == "complete_step" and blocked["liftedBy"], asking
    await walker.call(blocked["tool"], blocked["arguments"], refused="checkpoint_open")
    if "--stateless" not in arguments or "--ledger" in arguments:
        await walker.call("complete_step", {**known, "step_id": "collect"}, refused="stale")
    ending = {**known, "state": asking["state"], "reason": "that is all"}
    ended = await walker.call("end_workflow", ending)
    assert ended["complete"] and "cancelled" in ended["message"], ended
    over = {**known, "state": ended["state"], "step_id": "collect"}
    await walker.call("complete_step", over, refused="workflow_completed")


async def verified(walker):
    begin = {"workflow_id": "work-package", "variables": {"ticket": "AB-12"}}
    now = await walker.call("start_workflow", begin)
    action = now["availableActions"]["required"][0]
    assert "fill" not in action, "the agent has nothing to choose"
    # What the agent says itself counts for nothing: the person is asked, and chooses otherwise.
    now = await walker.call(action["tool"], {**action["arguments"], "option_id": "github"})
    assert now["checkpoint"]["id"] == "project", now
    assert "Note: as always" in now["message"], now


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    server = str(Path(sys.argv[1]).resolve())
    for mode in ["auto", "legacy"]:
        with tempfile.TemporaryDirectory() as folder:
            project = Path(folder) / "project"
            project.mkdir()
            shutil.copytree(EXAMPLES, project / ".flow/workflows")
            believe(server, project, "quick-task", "bug-fix")
            asyncio.run(walk(server, project, mode))
        print(f"{mode}: well")


if __name__ == "__main__":
    main()

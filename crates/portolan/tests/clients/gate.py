"""Puts `portolan gate` between the Python SDK's client and servers that others wrote, from npm and from the SDK.

    pip install mcp==2.3.0
    python crates/portolan/tests/clients/gate.py target/debug/portolan [CALLS]

The official servers `everything` and `filesystem` answer through the gate as they do without it, images, structured results,
resources, prompts, completions and progress included; a step denies what it denies; the official filesystem server is not asked to write outside of what the guards allow.
Then CALLS calls (3000 by default), 64 at a time, go to three servers, of which one ends at every hundredth of its calls:
each answer is its caller's, and the memory of the gate does not grow.

Everything happens in a temporary folder. Exit code 0: all went well, or the servers cannot be installed, which is said;
1: something did not, and it says what.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import PromptReference

PACKAGES = ["@modelcontextprotocol/server-everything@2026.8.31", "@modelcontextprotocol/server-filesystem@2026.8.31"]

# A server by the SDK. The fragile one ends at every hundredth call.
ECHO = """
import os, sys
from mcp.server.mcpserver import MCPServer
server = MCPServer(sys.argv[1])
count = 0

@server.tool(name=sys.argv[1])
def echo(number: int) -> str:
    global count
    count += 1
    if sys.argv[1] == "fragile" and count % 100 == 0:
        os._exit(1)
    return f"{sys.argv[1]} {number}"

server.run()
"""

REVIEW = {
    "nodes": {
        "start": {"type": "start"},
        "look": {"type": "task", "instructions": "Only read.", "deny": ["mcp:files/write_*", "mcp:files/edit_*"]},
        "change": {"type": "task", "instructions": "Now write."},
        "done": {"type": "end", "result": "success"},
    },
    "edges": [{"from": "start", "to": "look"}, {"from": "look", "to": "change"}, {"from": "change", "to": "done"}],
}


def installed(folder):
    (folder / "package.json").write_text('{"private": true}')
    words = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", *PACKAGES]
    done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode == 0:
        return folder / "node_modules/.bin"
    print(f"NOT CHECKED: the servers cannot be installed here: {done.stderr.strip()[-300:]}")
    return None


def client(words, project, environment):
    return Client(StdioServerParameters(command=words[0], args=words[1:], cwd=project, env=environment))


def plain(result):
    return [part.model_dump(exclude_none=True) for part in result.content], result.structured_content, result.is_error


async def answers_are_the_servers_own(gate, direct, project, environment):
    """Tools and results of `everything`, with the gate and without it."""
    calls = [
        ("echo", {"message": "mend the door"}),
        ("get-sum", {"a": 2, "b": 40}),
        ("get-tiny-image", {}),
        ("get-structured-content", {"location": "Chicago"}),
        ("get-resource-links", {"count": 2}),
        ("get-sum", {"a": "two"}),
    ]
    async with client(direct, project, environment) as there, client(gate, project, environment) as here:
        tools = {tool.name: tool for tool in (await there.list_tools()).tools}
        offered = {tool.name: tool for tool in (await here.list_tools()).tools}
        missing = set(tools) - set(offered)
        assert not missing, f"not offered: {missing}"
        for name, tool in tools.items():
            assert offered[name].input_schema == tool.input_schema, name
            assert offered[name].output_schema == tool.output_schema, name
            assert offered[name].description == tool.description, name
        for name, arguments in calls:
            assert name in tools, f"`everything` has no {name}: {sorted(tools)}"
            wanted, got = await there.call_tool(name, arguments), await here.call_tool(name, arguments)
            assert plain(got) == plain(wanted), f"{name}: {plain(got)} instead of {plain(wanted)}"


async def offers_are_the_servers_own(gate, direct, project, environment):
    """Resources, prompts, completions and progress of `everything`, with the gate and without it."""
    async with client(direct, project, environment) as there, client(gate, project, environment) as here:
        lists = [(await at.list_resources()).resources for at in (there, here)]
        wanted = {resource.uri: resource.model_dump() for resource in lists[0]}
        got = {resource.uri: resource.model_dump() for resource in lists[1]}
        assert len(wanted) > 3 and all(got.get(uri) == one for uri, one in wanted.items()), (wanted, got)
        templates = [(await at.list_resource_templates()).resource_templates for at in (there, here)]
        assert templates[0] and all(template in templates[1] for template in templates[0]), templates
        # One that is listed, and one that only a template describes. Dynamic ones contain the time.
        for uri in [next(iter(wanted)), templates[0][0].uri_template.replace("{resourceId}", "3")]:
            read = [(await at.read_resource(uri)).model_dump_json() for at in (there, here)]
            read = [re.sub(r"\d+:\d+:\d+", "TIME", text) for text in read]
            assert read[0] == read[1], read
        prompts = [{one.name: one for one in (await at.list_prompts()).prompts} for at in (there, here)]
        assert prompts[0] and all(prompts[1].get(name) == one for name, one in prompts[0].items()), prompts
        for name, prompt in prompts[0].items():
            given = {argument.name: "1" for argument in prompt.arguments or []}
            texts = []
            for at in (there, here):
                try:
                    texts.append((await at.get_prompt(name, given)).model_dump())
                except Exception as error:  # what the server does not accept, it refuses through the gate, too
                    texts.append(error.error.code)
            assert texts[0] == texts[1], f"{name}: {texts}"
        asked = PromptReference(type="ref/prompt", name="completable-prompt")
        completed = [(await at.complete(asked, {"name": "department", "value": "S"})) for at in (there, here)]
        assert completed[0].completion.values and completed[0].completion == completed[1].completion, completed
        steps = []
        for at in (there, here):
            told = []

            async def heard(progress, total, message):
                told.append((progress, total, message))

            long = {"duration": 1, "steps": 5}
            await at.call_tool("trigger-long-running-operation", long, progress_callback=heard)
            steps.append(told)
        assert len(steps[0]) == 5 and steps[0] == steps[1], steps


async def a_step_decides(gate, project, environment):
    """The official filesystem server writes at the step that allows it."""
    file = project / "notes.txt"
    wanted = {"path": str(file), "content": "x"}
    async with client(gate, project, environment) as here:
        run = (await here.call_tool("Init", {"workflowType": "review"})).structured_content["run"]
        now = (await here.call_tool("Start", {"run": run})).structured_content
        refused = await here.call_tool("write_file", wanted)
        assert refused.is_error and "Refused: at `look`" in refused.content[0].text, refused
        assert not file.exists()
        listed = await here.call_tool("list_directory", {"path": str(project)})
        assert not listed.is_error, listed
        await here.call_tool("Next", now["actions"]["required"][0]["arguments"])
        written = await here.call_tool("write_file", wanted)
        assert not written.is_error and file.read_text() == "x", written
        # Files that configure the gates are protected from every tool that is known to write.
        guarded = await here.call_tool("write_file", {"path": str(project / ".portolan/plugins.yaml"), "content": "{}"})
        assert guarded.is_error and "Refused" in guarded.content[0].text, guarded


def memory(process):
    text = Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text).group(1)) // 1024


def gate_below(process):
    """The process of the gate: the client's only child that is one."""
    for child in Path(f"/proc/{process}/task/{process}/children").read_text().split():
        if b"gate" in Path(f"/proc/{child}/cmdline").read_bytes():
            return child
    raise AssertionError("the gate does not run")


async def each_answer_is_its_callers(gate, project, environment, count):
    """Calls of three servers at once, of which one ends now and then."""
    lost, sizes = 0, []
    async with client(gate, project, environment) as here:
        process = gate_below(os.getpid())
        room = asyncio.Semaphore(64)

        async def call(number):
            nonlocal lost
            name = ("first", "second", "fragile")[number % 3]
            async with room:
                result = await here.call_tool(name, {"number": number})
            text = result.content[0].text
            if result.is_error:
                assert name == "fragile", f"{name} {number}: {text}"
                lost += 1
            else:
                assert text == f"{name} {number}", f"{name} {number} got {text}"

        for begin in range(0, count, 500):
            await asyncio.gather(*(call(number) for number in range(begin, min(begin + 500, count))))
            sizes.append(memory(process))
    print(f"{count} calls: {lost} reported as failed, memory in MiB {sizes[0]} to {sizes[-1]}")
    assert sizes[-1] <= sizes[0] * 1.5 + 20, f"the memory grows: {sizes}"
    assert lost < count / 3, "calls of a server that is started again succeed"


async def main(portolan, count):
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch).resolve()
        project = scratch / "project"
        (project / ".flow/workflows").mkdir(parents=True)
        (project / ".flow/workflows/review.json").write_text(json.dumps(REVIEW))
        (scratch / "echo.py").write_text(ECHO)
        environment = {**os.environ, "PORTOLAN_DATA_DIR": str(scratch / "person")}
        programs = installed(scratch)
        if programs:
            everything = [str(programs / "mcp-server-everything"), "stdio"]
            files = [str(programs / "mcp-server-filesystem"), str(project)]
            servers = {"everything": everything, "files": files}
            gate = written(portolan, scratch / "official.json", servers)
            await answers_are_the_servers_own(gate, everything, project, environment)
            await offers_are_the_servers_own(gate, everything, project, environment)
            await a_step_decides(gate, project, environment)
        servers = {name: [sys.executable, str(scratch / "echo.py"), name] for name in ("first", "second", "fragile")}
        gate = [*written(portolan, scratch / "echoes.json", servers), "--toolset", "none"]
        (project / ".portolan").mkdir(exist_ok=True)
        await each_answer_is_its_callers(gate, project, environment, count)
        verified = subprocess.run(
            [portolan, "flow", "events", "--verify"], cwd=project, env=environment, capture_output=True, text=True
        )
        assert verified.returncode == 0, verified.stderr + verified.stdout
    print("the gate is between a client and servers that others wrote: all went well")


def written(portolan, file, servers):
    """The command line of a gate before servers."""
    entries = {name: {"command": words[0], "args": words[1:]} for name, words in servers.items()}
    file.write_text(json.dumps({"mcpServers": entries}))
    return [portolan, "gate", "--mcp", str(file)]


if __name__ == "__main__":
    asyncio.run(main(str(Path(sys.argv[1]).resolve()), int(sys.argv[2]) if len(sys.argv) > 2 else 3000))

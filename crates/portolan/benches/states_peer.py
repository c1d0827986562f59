"""What `states.rs` measures, by fsm-agent-flow itself. Takes the address of a server that speaks OpenAI's protocol, and
prints a line of JSON for each row."""

import json
import subprocess
import sys
import time

from fsm_agent_flow import KeyResult, StateSpec, Workflow


class Silent:
    """A model that is never asked."""

    def chat(self, *_args, **_kwargs):
        raise AssertionError("nobody asks")

    def format_tools(self, _specs):
        return []


def row(name, seconds, each):
    print(json.dumps({"name": f"fsm-agent-flow: {name}", "seconds": seconds, "each": each}), flush=True)


def ring(steps):
    left = steps
    states = [StateSpec(name=f"s{at}", objective="o") for at in range(10)]
    flow = Workflow(objective="o", states=states, transitions={f"s{at}": f"s{(at + 1) % 10}" for at in range(10)}, llm=Silent())
    began = time.perf_counter()
    output = "x"
    while left:
        output = flow.step(output)
        left -= 1
    return time.perf_counter() - began


def asked(base, calls):
    from fsm_agent_flow.llm.openai import OpenAIAdapter

    adapter = OpenAIAdapter(model="m", api_key="none", base_url=base)
    execute = lambda ctx: ctx.llm.chat([__import__("fsm_agent_flow").Message(role="user", content="fine")]).content
    check = KeyResult(name="n", description="d", check=lambda output: len(output) > 1)
    state = StateSpec(name="a", objective="a", key_results=[check], execute=execute)
    flow = Workflow(objective="o", states=[state], transitions={"a": "a"}, llm=adapter)
    began = time.perf_counter()
    for _ in range(calls):
        flow.step("x")
    return time.perf_counter() - began


base = sys.argv[1]
for steps in (10_000, 50_000):
    row(f"{steps} states, in memory", ring(steps), steps)
row("2000 states with a model and a check", asked(base, 2_000), 2_000)
begin = time.perf_counter()
subprocess.run([sys.executable, "-c", "from fsm_agent_flow.llm.openai import OpenAIAdapter; OpenAIAdapter(api_key='x')"], check=True)
row("start, before any request", time.perf_counter() - begin, 1)

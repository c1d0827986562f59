"""Runs the modules that `portolan export --to langgraph` writes in LangGraph itself.

    pip install langgraph==1.2.22 langgraph-checkpoint-sqlite==3.1.2
    python crates/portolan/tests/clients/langgraph_walk.py target/debug/portolan

For a workflow of each kind it exports the module, draws the graph, and leads it to its end: with interrupts and a function
in their place, with wrong answers, which are refused and pass nothing, and on from another process.

Everything happens in a temporary folder. Exit code 0: all went well; 1: something did not, and it says what.
"""

import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from believed import believe
from langgraph.checkpoint.memory import MemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

NAVIGATOR = {
    "nodes": {
        "start": {"type": "start"},
        "make-it": {"type": "task", "name": 'Make "it"'},
        "run": {"type": "gate", "name": "Look", "maxRetries": 1, "accept": [{"id": "made", "file": "made.txt"}]},
        "done": {"type": "end", "result": "success"},
    },
    "edges": [
        {"from": "start", "to": "make-it"},
        {"from": "make-it", "to": "run"},
        {"from": "run", "to": "done", "on": "passed"},
        {"from": "run", "to": "make-it", "on": "failed"},
    ],
}

ACTIVITIES = """
id: review
version: 1.0.0
title: Review
variables: [{ name: findings, type: array, default: [] }]
activities:
  - id: read
    name: Read
    steps:
      - { id: list, kind: step, name: List the findings, outputs: [findings] }
      - id: publish
        kind: checkpoint
        message: "Publish {findings}?"
        options:
          - { id: "yes", label: Publish }
          - { id: "no", label: Keep, effect: { transitionTo: tidy } }
    transitions: [{ to: post }]
  - { id: post, name: Post, steps: [{ id: comment, kind: step, name: Post it }], transitions: [{ to: tidy }] }
  - { id: tidy, name: Tidy, steps: [{ id: notes, kind: step, name: Remove the notes }] }
"""

STATES = """
objective: A greeting
states:
  draft:
    objective: Greet
    max_retries: 0
    on_failure: ask
    key_results: [{ name: long, description: it is long, check: "len(output) >= 4" }]
  approve: { ask: "May it be sent?", options: { send: Send it, again: Write it anew } }
  send: { objective: End it, is_final: true }
transitions: { draft: approve, approve: { send: send, again: draft } }
"""

BRANCHES = """
objective: Facts and pictures
states:
  both: { parallel: [facts, pictures], join: together }
  facts: { objective: Facts }
  pictures:
    objective: Pictures
    max_retries: 0
    on_failure: ask
    key_results: [{ name: many, description: they are many, check: "len(output) >= 4" }]
  together: { join: all, is_final: true }
transitions: { facts: together, pictures: together }
"""

GRAPH = """
version: "1.0"
server: { name: numbers, version: "1" }
tools:
  - name: double
    description: Doubles a number
    inputSchema: { type: object, properties: { n: { type: number } }, required: [n] }
    outputSchema: { type: object }
    nodes:
      - { id: entry, type: entry, next: big }
      - { id: big, type: switch, conditions: [{ rule: { ">": [{ var: entry.n }, 9] }, target: keep }, { target: twice }] }
      - { id: twice, type: transform, transform: { expr: '{"n": 2 * $.entry.n}' }, next: exit }
      - { id: keep, type: transform, transform: { expr: '{"n": $.entry.n}' }, next: exit }
      - { id: exit, type: exit }
"""

FAILING = """
objective: It fails
states:
  work: { transform: "$error('too short')", is_final: true }
"""

CONFIG = {"configurable": {"thread_id": "1"}, "recursion_limit": 200}


class World:
    def __init__(self, portolan, folder):
        self.portolan, self.folder = str(Path(portolan).resolve()), Path(folder)

    def export(self, name, text=None):
        """The module of a definition, loaded as Python does."""
        out = self.folder / f"{name.replace('.', '_')}_graph.py"
        if text is not None:
            (self.folder / name).write_text(text)
        words = ["export", name, "--to", "langgraph", "--out", str(out)]
        done = subprocess.run([self.portolan, *words], cwd=self.folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        spec = importlib.util.spec_from_file_location(out.stem, out)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def built(self, module, checkpointer=None, **options):
        graph = module.build(program=self.portolan, project=self.folder, **options)
        return graph.compile(checkpointer=checkpointer)


def asked(now):
    assert "__interrupt__" in now, now
    return now["__interrupt__"][0].value


def navigator(world):
    module = world.export("make.json", json.dumps(NAVIGATOR))
    graph = world.built(module, MemorySaver())
    chart = graph.get_graph().draw_mermaid()
    for part in ("make-it", "run_2", "failed", "passed"):
        assert part in chart, chart
    now = graph.invoke({"input": {}}, CONFIG)
    assert asked(now)["node"] == "make-it", now
    now = graph.invoke(Command(resume={"result": "perfect"}), CONFIG)
    assert "perfect" in asked(now)["refused"], now
    now = graph.invoke(Command(resume="passed"), CONFIG)
    # What is claimed is looked at: the file is not there, and the gate sends it back.
    now = graph.invoke(Command(resume="passed"), CONFIG)
    assert asked(now)["node"] in ("make-it", "run"), now
    (world.folder / "made.txt").write_text("it")
    for _ in range(3):
        if "__interrupt__" in now:
            now = graph.invoke(Command(resume="passed"), CONFIG)
    assert now["result"] == "done", now


def activities(world):
    module = world.export("review.yaml", ACTIVITIES)
    told = []

    def work(asked):
        told.append(asked["message"])
        wrong = "refused" not in asked and "List the findings" in asked["message"]
        outputs = {"findings": "none" if wrong else ["a typo"]}
        return {"outputs": outputs} if "Outputs" in asked["message"] else asked["answers"][0]

    now = world.built(module, work=work).invoke({"input": {}}, CONFIG)
    assert "result" in now and len(told) == 5, (now, told)


def states(world):
    module = world.export("states.yaml", STATES)
    answers = "- text: Hi\n- text: Hello\n- text: Bye\n"
    (world.folder / "answers.yaml").write_text(answers)
    graph = world.built(module, MemorySaver(), model="scripted:answers.yaml")
    now = graph.invoke({"input": {"name": "Ada"}}, CONFIG)
    assert asked(now)["node"] == "draft" and "accept" in asked(now)["answers"], now
    (world.folder / "answers.yaml").write_text("- text: Hello\n")
    now = graph.invoke(Command(resume="go-on"), CONFIG)
    assert asked(now)["node"] == "approve" and set(asked(now)["answers"]) == {"send", "again"}, now
    now = graph.invoke(Command(resume="burn"), CONFIG)
    assert "burn" in asked(now)["refused"], now
    (world.folder / "answers.yaml").write_text("- text: Bye\n")
    now = graph.invoke(Command(resume="send"), CONFIG)
    assert (now["result"], now["output"]) == ("done", "Bye"), now


def tool_graph(world):
    module = world.export("double.yaml", GRAPH)
    graph = world.built(module)
    for given, output, way in ((4, 8, "twice"), (12, 12, "keep")):
        steps = [next(iter(step)) for step in graph.stream({"input": {"n": given}}, CONFIG, stream_mode="updates")]
        assert way in steps and ({"twice", "keep"} - {way}).isdisjoint(steps), steps
        assert graph.invoke({"input": {"n": given}}, CONFIG)["output"] == {"n": output}
    # What failed says why.
    failed = world.built(world.export("failing.yaml", FAILING)).invoke({"input": {}}, CONFIG)
    assert failed["result"] == "failed" and "too short" in failed["output"]["message"], failed
    try:
        graph.invoke({"input": {"n": "four"}}, CONFIG)
    except module.PortolanError as error:
        assert "`/n`" in str(error), error
    else:
        raise AssertionError("a wrong input is taken")


LATER = """
import sys
sys.path.insert(0, sys.argv[2])
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command
import bug_fix_graph as module
config = {"configurable": {"thread_id": "1"}, "recursion_limit": 200}
with SqliteSaver.from_conn_string("checkpoints.db") as saver:
    graph = module.build(program=sys.argv[1], project=".").compile(checkpointer=saver)
    before = graph.get_state(config).interrupts[0].value
    assert before["node"] == sys.argv[3], before
    now = graph.invoke(Command(resume="passed"), config)
    asked = now["__interrupt__"][0].value
    assert asked["node"] != before["node"] and "refused" not in asked, asked
"""


def another_process(world):
    """What LangGraph keeps on disk is all that is needed: another process goes on where this one was."""
    believe(world.portolan, world.folder, "bug-fix")
    module = world.export("bug-fix")
    with SqliteSaver.from_conn_string(str(world.folder / "checkpoints.db")) as saver:
        graph = world.built(module, saver)
        now = graph.invoke({"input": {}}, CONFIG)
    out = world.folder / "bug-fix_graph.py"
    out.rename(world.folder / "bug_fix_graph.py")
    argv = [sys.executable, "-c", LATER, world.portolan, str(world.folder), asked(now)["node"]]
    subprocess.run(argv, cwd=world.folder, check=True)


def branches(world):
    """States side by side are Portolan's work, and a branch that waits is asked about."""
    module = world.export("branches.yaml", BRANCHES)
    chart = world.built(module).get_graph().draw_mermaid()
    for part in ("both", "facts", "pictures", "together"):
        assert part in chart, chart
    (world.folder / "answers.yaml").write_text("- {for: facts, text: two}\n- {for: pictures, text: a}\n")
    graph = world.built(module, MemorySaver(), model="scripted:answers.yaml")
    now = graph.invoke({"input": {}}, CONFIG)
    assert "accept" in asked(now)["answers"], now
    now = graph.invoke(Command(resume="accept"), CONFIG)
    assert now["output"] == {"facts": "two", "pictures": "a"}, now


def main():
    for walk in (navigator, activities, states, branches, tool_graph, another_process):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, ".portolan").mkdir()
            walk(World(sys.argv[1], folder))
            print(f"langgraph: {walk.__name__} went well")


if __name__ == "__main__":
    main()

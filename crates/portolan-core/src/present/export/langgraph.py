"""A workflow of Portolan as a LangGraph graph: written by `portolan export --to langgraph`.

The graph draws, streams, checkpoints and interrupts as any other. Its nodes decide nothing: each asks Portolan, which
owns the place, the variables and every condition, and leads on only where they hold. So there is no way past an
acceptance here.

    from langgraph.checkpoint.memory import MemorySaver
    from langgraph.types import Command

    graph = build().compile(checkpointer=MemorySaver())
    config = {"configurable": {"thread_id": "1"}, "recursion_limit": 1000}
    now = graph.invoke({"input": {}}, config)
    while "__interrupt__" in now:
        asked = now["__interrupt__"][0].value
        now = graph.invoke(Command(resume=...), config)  # such as "passed", or {"result": "passed", "summary": "..."}

What is asked has the `node`, a `message`, the `answers` that are known to be accepted, and `refused` where the last answer
was not. With `build(work=...)` that function is asked in the place of an interrupt.
"""

import json
import subprocess
from pathlib import Path
from typing import Any, Callable, Optional, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

#: The workflow: its nodes with their names here, and where each may lead.
WORKFLOW = json.loads(@@WORKFLOW@@)


class State(TypedDict, total=False):
    """What LangGraph keeps. All else is in Portolan's store, under the handle `run`."""

    input: dict
    run: str
    seen: int
    refused: Optional[str]
    result: str
    output: Any


class PortolanError(Exception):
    """Portolan refused a call, or could not be asked."""


class Portolan:
    """The program `portolan`, asked for one workflow."""

    def __init__(self, program="portolan", project=".", definition=None, model=None, mcp=None):
        here = Path(__file__).resolve().parent
        self.program, self.project = str(program), str(Path(project).resolve())
        self.definition = str(definition or here / WORKFLOW["definition"])
        self.options = [part for flag, value in (("--model", model), ("--mcp", mcp)) if value for part in (flag, str(value))]

    def asked(self, *words, accepted=(0, 4), **given):
        """What the program prints, as JSON: of a run that failed it stands on standard error."""
        argv = [self.program, "--project", self.project, "--format", "json", *map(str, words)]
        done = subprocess.run(argv, capture_output=True, text=True, cwd=self.project, **given)
        if done.returncode not in accepted:
            raise PortolanError(said(done.stderr) or f"{argv} ended with {done.returncode}")
        return json.loads(done.stdout.strip() or (done.stderr.strip().splitlines() or ["null"])[-1])

    def call(self, tool, arguments):
        """One call of a navigation tool over MCP."""
        served = [self.definition] if WORKFLOW["served"] else []
        argv = [self.program, "--project", self.project, "serve", *served, "--toolset", "navigate"]
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "langgraph", "version": "1"}}
        lines = [
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool, "arguments": arguments}},
        ]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(argv, cwd=self.project, **pipes) as server:
            for line in lines:
                server.stdin.write(json.dumps(line) + "\n")
            server.stdin.flush()
            for line in server.stdout:
                answer = json.loads(line)
                if answer.get("id") == 2:
                    server.stdin.close()
                    if "error" in answer:
                        raise PortolanError(answer["error"]["message"])
                    return answer["result"]["structuredContent"]
            raise PortolanError(server.stderr.read().strip() or "the server ended without an answer")

    def begin(self, given):
        """Begins a run, and answers with its handle."""
        if WORKFLOW["led"]:
            arguments = {"workflow_id": WORKFLOW["id"], "variables": given}
            answer = self.call("start_workflow", arguments)
            if not answer["success"]:
                raise PortolanError(told(answer["error"]))
            return answer["state"].rsplit(".", 1)[0]
        words = ["run", self.definition, "--durable", "--input", json.dumps(given), *self.options]
        # A run that fails has begun all the same.
        return self.asked(*words, accepted=(0, 1, 4))["run"]

    def trail(self, run):
        """The nodes that the run has come to, the first of them first."""
        nodes = []
        for record in self.asked("runs", "events", run)["records"]:
            for change in record["changes"]:
                for kind, what in change.items():
                    if kind in ("opened", "moved", "branched", "item_begun"):
                        path = what.get("frame", [])
                        if not any(name in WORKFLOW["runs_others"] for name in path):
                            nodes.extend(places(what))
        return [node for node in nodes if node in NAMES]

    def waiting(self, run):
        """What the run waits for, as it is asked; nothing when it is over."""
        shown = self.asked("runs", "show", run)
        if shown["situation"]["state"] == "ended":
            return None, shown
        asked = {"node": shown["situation"]["position"]["step"], "message": shown["situation"]["message"]}
        actions = shown["situation"]["actions"]
        answers = [action["arguments"].get("result") for action in actions["required"] + actions["optional"]]
        asked["answers"] = [answer for answer in answers if answer] or shown.get("waits", {}).get("resume", [])
        return asked, shown

    def answer(self, run, shown, answer):
        """Passes an answer on; what is wrong with it, where it is refused."""
        given = answer if isinstance(answer, dict) else {"result": answer}
        try:
            return self.led(run, shown, given) if WORKFLOW["led"] else self.resumed(run, shown, given)
        except PortolanError as error:
            return str(error)

    def led(self, run, shown, given):
        place = {"workflow_id": WORKFLOW["id"], "state": f"{run}.{shown['situation']['position']['revision']}"}
        now = self.call("get_position", place)
        if not now["success"]:
            return told(now["error"])
        required = now["availableActions"]["required"]
        if not required:
            blocked = now["availableActions"]["blocked"]
            return "; ".join(action["liftedBy"] for action in blocked) or "nothing can be done here"
        action, arguments = required[0], dict(given)
        result = arguments.pop("result", None)
        if action["tool"] == "respond_to_checkpoint":
            arguments.setdefault("option_id", result)
        elif result not in (None, "passed"):
            arguments["result"] = result
        if "summary" in action.get("fill", []):
            arguments.setdefault("summary", "done")
        answered = self.call(action["tool"], {**action["arguments"], **arguments})
        return None if answered["success"] else told(answered["error"])

    def resumed(self, run, shown, given):
        if not shown.get("waits"):
            self.asked("runs", "answer", run, given.get("result") or "")
            words = []
        elif "answer" in given:
            words = ["--answer", json.dumps(given["answer"])]
        else:
            words = [f"--{given.get('result')}"]
        if words and shown["waits"].get("branch"):
            words += ["--branch", shown["waits"]["branch"]]
        self.asked("runs", "resume", run, *words, *self.options, accepted=(0, 1, 4))
        return None


def said(text):
    """What an error on standard error says."""
    try:
        return told(json.loads(text.strip().splitlines()[-1]))
    except (ValueError, IndexError, KeyError):
        return text.strip()


def told(error):
    help_ = error.get("help")
    return f"{error['message']}; {help_}" if help_ else error["message"]


def places(what):
    """The node of a change's place, and those of what it opens within."""
    found = []
    place = what.get("place")
    if isinstance(place, dict):
        (body,) = place.values()
        found.append(body["node"])
        if "looping" in place:
            found.extend(places(body["frame"]))
        for branch in body.get("branches", []):
            found.extend(opened(branch.get("state")))
    found.extend(opened(what.get("state")))
    return found


def opened(state):
    return places(state["open"]) if isinstance(state, dict) and "open" in state else []


NAMES = {node["node"]: node["name"] for node in WORKFLOW["nodes"]}


def build(work: Optional[Callable[[dict], Any]] = None, portolan: Optional[Portolan] = None, **options) -> StateGraph:
    """The graph, to be compiled. `work` answers what is asked; without it, LangGraph interrupts. `options` are those of
    `Portolan`: `program`, `project`, `definition`, `model`, `mcp`."""
    asks = portolan or Portolan(**options)
    graph = StateGraph(State)
    for node in WORKFLOW["nodes"]:
        graph.add_node(node["name"], visit(asks, node, work), destinations=ways(node), metadata={"title": node["title"]})
    graph.add_edge(START, NAMES[WORKFLOW["start"]])
    return graph


def ways(node):
    return {END if to is None else NAMES[to]: label for to, label in node["ways"]}


def visit(asks, node, work):
    """A node: it goes where Portolan's run has gone, and asks where that waits."""

    def at(state: State) -> Command:
        run, seen = state.get("run"), state.get("seen", 0)
        if run is None:
            run = asks.begin(state.get("input") or {})
            # Kept before anything else happens: a run that is begun is never begun again.
            return Command(update={"run": run, "seen": 0, "refused": None}, goto=node["name"])
        trail = asks.trail(run)
        if seen + 1 < len(trail):
            return Command(update={"seen": seen + 1, "refused": None}, goto=NAMES[trail[seen + 1]])
        asked, shown = asks.waiting(run)
        if asked is None:
            result = shown.get("outcome") or shown["metadata"].get("currentStep")
            return Command(update={"result": result, "output": shown.get("output", shown.get("error"))}, goto=END)
        if state.get("refused"):
            asked["refused"] = state["refused"]
        answer = work(asked) if work else interrupt(asked)
        return Command(update={"refused": asks.answer(run, shown, answer)}, goto=node["name"])

    return at

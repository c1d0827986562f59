"""An agent that misbehaves is refused at the same places, with the same situations, whichever way its calls go.

    pip install mcp==2.3.0
    python crates/portolan/tests/clients/misbehaving.py target/debug/portolan

One script of attempts (misbehaving/agent.py) is run twice, before the same servers:

* by the real Claude Code, from npm, with a scripted model: its project has the servers, and Portolan's hooks;
* by a client of the Python SDK, with only `portolan gate` in front of the servers.

Of each attempt it must be the same whether it passes and reaches its server, which guards speak against it and why, at which
step it was judged, and what the agent hears: the reason, the step of its run, and the outcomes that are offered there.

Everything happens in a temporary folder, with homes of its own. Exit code 0: all is the same, or Claude Code cannot be had,
which is said; 1: something differs, and it says what.
"""

import asyncio
import re
import shutil
import sys
import tempfile
from pathlib import Path

from hosts import installed

sys.path.insert(0, str(Path(__file__).resolve().parent / "misbehaving"))

from agent import ATTEMPTS, SERVERS, STEP  # noqa: E402
from programs import ClaudeCode, version_of  # noqa: E402
from ways import answer, spelt_by_claude, through_gate, through_hooks  # noqa: E402

PERSON = "person"


def did_pass(attempt, heard):
    """Whether the call reached its server; of Portolan's own tools, whether it answers as to a call that counts."""
    if not attempt.tool.startswith("portolan/"):
        return bool(heard.reached)
    said = answer(heard.text)
    return bool(said) and "error" not in said and said.get("claim", {}).get("held", True)


def objections(heard):
    """The guards that spoke against the call, with decision and reason: once, though the gate judges again after a question."""
    blocks = [line["data"] for line in heard.lines if line["type"] == "flow.guard.block"]
    return sorted({(block["guardId"], block.get("decision", "block"), block["reason"]) for block in blocks})


def step_of(heard):
    """The step at which the call was judged, with its revision, by the log."""
    called = [line["data"] for line in heard.lines if line["type"] == "flow.tool.invoked"]
    return called[-1].get("step") if called else None


def was_allowed_by_person(heard):
    return any(line["type"] == "flow.guard.allow" and line["data"]["guardId"] == PERSON for line in heard.lines)


def situations(text):
    """What a refusal tells of runs: their names, the steps that they are at, and what is offered there."""
    runs, steps = re.findall(r"Run `(.+?)`", text), re.findall(r"^## (.+)$", text, re.MULTILINE)
    return sorted(runs), sorted(steps), sorted(re.findall(r"Next\((.+?)\)", text))


def situations_in(data):
    """The same by the data beside the text, which the gate gives."""
    found = [(said["run"], said["situation"]) for said in data.get("situations", [])]
    offered = [[offer["outcome"] for offer in now["offers"] if offer["act"] == "report"] for _, now in found]
    steps = sorted(now["position"]["stepName"] for _, now in found)
    return sorted(run for run, _ in found), steps, sorted("|".join(outcomes) for outcomes in offered)


def facts(attempt, heard):
    """What is to be the same both ways."""
    passed, against = did_pass(attempt, heard), objections(heard)
    own = attempt.tool.startswith("portolan/")
    # Where several runs are open, the log has one of them; a refusal by a step names that step in its reason.
    step = None if own or STEP in attempt.by else step_of(heard)
    known = {
        "it": "passes" if passed else "is refused",
        "what reached a server": heard.reached,
        "the guards against it": against,
        "the step in the log": step,
        "a person has allowed it, by the log": was_allowed_by_person(heard),
        "what Portolan answers": answer(heard.text) if own else None,
    }
    if not passed and not own:
        # Where a person was asked and said no, a host gives the agent the person's words instead of the reason.
        reasons = [reason for _, decision, reason in against if decision == "block"]
        known["a reason that the agent does not hear"] = [reason for reason in reasons if reason not in heard.text]
        known["the situation that the agent hears"] = situations(heard.text)
    return known


def alike(place, heard):
    """What was heard, without what differs for good reason: the folder, the names of runs, and how Claude Code spells tools."""
    answers = [answer(one.text) for one in heard]
    runs = {said["run"]: said["metadata"]["workflowType"] for said in answers if "run" in said}
    tools = {f"mcp__{server}__{tool}": spelt_by_claude(f"{server}/{tool}") for server in SERVERS for tool in SERVERS[server]}

    def plain(value):
        if isinstance(value, str):
            for name, workflow in runs.items():
                value = re.sub(rf"\b{name}\b", f"the run of {workflow}", value)
            for name, spelt in tools.items():
                value = value.replace(name, spelt)
            return value.replace(str(place.project), "PROJECT")
        if isinstance(value, dict):
            return {plain(key): plain(item) for key, item in value.items()}
        return [plain(item) for item in value] if isinstance(value, list) else value

    return [one._make(plain(part) for part in one) for one in heard]


def faults(attempt, hooks, gate):
    """What is not as it must be."""
    found = []
    by_hooks, by_gate = facts(attempt, hooks), facts(attempt, gate)
    wanted = "passes" if attempt.passes else "is refused"
    for way, known in (("hooks", by_hooks), ("gate", by_gate)):
        if known["it"] != wanted:
            found.append(f"{way}: it {known['it']}")
        guards = {guard for guard, _, _ in known["the guards against it"]}
        if guards != set(attempt.by):
            found.append(f"{way}: the guards against it are {sorted(guards)} instead of {sorted(attempt.by)}")
        if known.get("a reason that the agent does not hear"):
            found.append(f"{way}: the agent does not hear why")
    if "situations" in gate.data and situations(gate.text) != situations_in(gate.data):
        found.append(f"gate: the text tells {situations(gate.text)}, and the data {situations_in(gate.data)}")
    if attempt.by and not attempt.passes and step_of(gate) and not gate.data["situations"]:
        found.append("gate: a refusal in a run is without its situation")
    for what in by_gate:
        if by_hooks.get(what, by_gate[what]) != by_gate[what]:
            found.append(f"{what}: hooks {by_hooks[what]!r}, gate {by_gate[what]!r}")
    return found


def compared(hooks, gate):
    """Prints each attempt, and returns how many are not as they must be."""
    wrong = 0
    for number, attempt in enumerate(ATTEMPTS):
        found = faults(attempt, hooks[number], gate[number])
        wrong += bool(found)
        by = ", ".join(attempt.by) or ("Portolan" if attempt.tool.startswith("portolan/") else "no such tool")
        end = "passes" if attempt.passes else f"refused ({by})"
        print(f"{'DIFFERENT' if found else 'the same'}: {attempt.what}: {end}")
        for fault in found:
            print(f"    {fault}")
    return wrong


def main(portolan):
    if not shutil.which("npm"):
        print("NOT CHECKED: no coding agent, because there is no npm here")
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        scratch = Path(scratch).resolve()
        for name in ("package", "hooks", "gate"):
            (scratch / name).mkdir()
        claude = installed(scratch / "package", ClaudeCode())
        if not claude:
            return
        ways = [through_hooks(scratch / "hooks", portolan, claude, ATTEMPTS)]
        ways.append(asyncio.run(through_gate(scratch / "gate", portolan, ATTEMPTS)))
        for place, _ in ways:
            place.run([str(portolan), "flow", "events", "--verify"])
        wrong = compared(*(alike(place, heard) for place, heard in ways))
    if wrong:
        sys.exit(f"{wrong} of {len(ATTEMPTS)} attempts differ between the hooks and the gate, or are not as they must be")
    version = version_of(ClaudeCode())
    print(f"{len(ATTEMPTS)} attempts end alike through the hooks of Claude Code {version} and through the gate")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]).resolve())

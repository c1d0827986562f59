"""Portolan holds the real coding agents: each is installed from npm, and a scripted model has it try what is not allowed.

    python3 crates/portolan/tests/clients/hosts.py target/debug/portolan
    python3 crates/portolan/tests/clients/hosts.py target/debug/portolan claude-code codex

In a small project with `portolan install`, on a branch of its own, the agent begins `feature-development` of the catalogue
over MCP, and nobody attaches anything. Then:

* what it writes while it plans is refused, by its own tool, by its shell, and by a subagent;
* a commit on `main` is refused, likewise, and nothing that the model hears names a way past it;
* once the plan is reviewed, what it writes is there.

Everything happens in a temporary folder, with a home of its own. Exit code 0: all went well, or a package cannot be had, which
is said; 1: something did not, and it says what.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "hosts"))

from model import Model  # noqa: E402
from programs import PROGRAMS, version_of  # noqa: E402

# The words by which the conversations are told apart.
AGENT, PART = "The whole work.", "A part of the work."
COMMIT = "git switch -q main && git commit --allow-empty -m 'feat: greet (#1)'"
# What an agent is not to hear of.
WAYS_PAST = ["PORTOLAN_ALLOW", "PORTOLAN_SKIP", "PORTOLAN_BYPASS", "flow override", "no-verify"]
OUTPUTS = [
    {"requirements": [{"requirement": "it greets by name", "example": "greet('a')", "error_case": "an empty name"}]},
    {"places": [{"requirement": "it greets by name", "files": ["built.py"]}]},
    {"plan": [{"do": "write greet", "files": ["built.py"], "shown_by": "its test"}]},
    {"review": {"looked_at": ["the plan"]}},
]
MOST_SECONDS = 300


def situation(results):
    """What the last answer of Portolan says, whatever the host has put around it."""
    text = next(result for result in reversed(results) if '"actions"' in result)
    return json.loads(text[text.index("{") : text.rindex("}") + 1])


def offered(program, **given):
    """The first call that the last answer offers, with more arguments."""

    def move(results):
        action = situation(results)["actions"]["required"][0]
        return program.portolan(action["tool"], **action["arguments"], **given)

    return move


def scripts(program, project):
    end = [("end", program.end())] if hasattr(program, "end") else []
    return {
        PART: [("edit", program.edit(project / "part.py")), ("commit", program.shell(COMMIT)), *end],
        AGENT: [
            ("begin", program.portolan("Init", workflowType="feature-development", description="greet")),
            ("start", offered(program)),
            ("edit", program.edit(project / "early.py")),
            ("by shell", program.shell(getattr(program, "writes", "echo x > early.py"))),
            *program.subagent(PART),
            *[(next(iter(outputs)), offered(program, outputs=outputs)) for outputs in OUTPUTS],
            ("built", program.edit(project / "built.py")),
            ("commit", program.shell(COMMIT)),
        ],
    }


def run(words, project, environment):
    done = subprocess.run(
        words, cwd=project, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=MOST_SECONDS
    )
    assert done.returncode == 0, f"{words[:2]}: {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def begun(folder, portolan, program):
    """A project with one commit on `main`, on a branch of its own, and the environment of whoever works in it."""
    project, home = folder / "project", folder / "home"
    project.mkdir()
    home.mkdir()
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1"}
    for who in ["AUTHOR", "COMMITTER"]:
        environment |= {f"GIT_{who}_NAME": "Ada", f"GIT_{who}_EMAIL": "ada@example.org"}
    (project / "a.txt").write_text("one\n")
    for line in ["init -q -b main .", "add -A", "commit -q -m chore:begin", "switch -q -c feat/1-greet"]:
        run(["git", *line.split()], project, environment)
    run([str(portolan), "install", program.name, "--yes"], project, environment)
    return project, home, environment


def check(holds, what, results):
    assert holds, f"{what}\n{json.dumps(results, indent=1, ensure_ascii=False)[-8000:]}"


def walk(folder, portolan, program, binary):
    project, home, environment = begun(folder, portolan, program)
    with Model(scripts(program, project)) as model:
        environment |= program.prepare(home, project, portolan, model.url)
        said = run(program.command(str(binary), AGENT), project, environment)
    results = model.results
    if hasattr(program, "slash_commands"):
        commands = program.slash_commands(said)
        for name in ["where-was-i", "what-waits-for-me", "start-bug-fix"]:
            check(f"mcp__portolan__{name}" in commands, f"`{name}` is no slash command: {commands}", results)
    check(not model.faults, f"the script has failed: {model.faults}", results)
    for who in [AGENT, PART]:
        edit, commit = results[who].get("edit", ""), results[who].get("commit", "")
        check("at `parse_requirements`" in edit and "denies `edit`" in edit, f"{who} edits while it plans", results)
        check("I-2: this would commit on `main`" in commit, f"{who} commits on main", results)
    check("`edit`, and `" in results[AGENT].get("by shell", ""), "the shell edits while it plans", results)
    written = {name: (project / name).exists() for name in ["early.py", "part.py", "built.py"]}
    check(written == {"early.py": False, "part.py": False, "built.py": True}, f"written: {written}", results)
    commits = run(["git", "rev-list", "--count", "--all"], project, environment).strip()
    check(commits == "1", f"{commits} commits", results)
    # Hosts have their own to say of git; of Portolan's variables nobody else speaks.
    told = json.dumps(results) + "".join(body for body in model.heard if "PORTOLAN_" in body)
    named = [way for way in WAYS_PAST if way in told]
    check(not named, f"the model hears of {named}", results)


def installed(folder, program):
    """The program, from npm; nothing where it cannot be had."""
    package = f"{program.package}@{version_of(program)}"
    (folder / "package.json").write_text('{"private": true}')
    words = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", package]
    done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    binary = folder / "node_modules/.bin" / program.program
    if done.returncode == 0 and binary.exists():
        return binary
    print(f"NOT CHECKED: {package} cannot be had here: {done.stderr.strip()[-300:]}")
    return None


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    portolan, wanted = Path(sys.argv[1]).resolve(), sys.argv[2:]
    unknown = set(wanted) - {program.name for program in PROGRAMS}
    if unknown:
        sys.exit(f"no such host: {', '.join(unknown)}")
    if not shutil.which("npm"):
        print("NOT CHECKED: no coding agent, because there is no npm here")
        return
    for program in PROGRAMS:
        if wanted and program.name not in wanted:
            continue
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            package = Path(folder).resolve() / "package"
            package.mkdir()
            if binary := installed(package, program):
                walk(package.parent, portolan, program, binary)
                print(f"{program.name} {version_of(program)}: well", flush=True)


if __name__ == "__main__":
    main()

"""What holds the gates cannot be written in the sandbox, whatever a command looks like.

    python3 crates/portolan/tests/clients/sandbox.py target/debug/portolan

* Every command of the guards' cases that is refused or asked about because it may write such a file is run by a shell, in a
  project of its own: without the sandbox, to see that it would, and in it. The machine around is read-only for both.
* Claude Code, installed from npm, runs its shell in the sandbox, led by a scripted model: the same commands, as scripts, change
  none of these files, while the work of the project, commits with git's hooks among it, goes on.

Exit code 0: all went well, or something cannot be had, which is said; 1: something did not, and it says what.
"""

import hashlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "hosts"))

import hosts  # noqa: E402
from model import Model  # noqa: E402
from programs import ClaudeCode, version_of  # noqa: E402

CASES = Path(__file__).resolve().parents[3] / "portolan-gates/tests/cases/guards"
MOST_SECONDS = 10
# The projects that a thread has made.
MADE = threading.local()
# What agents may write below `.portolan`, and what hooks of git write there for themselves.
OPEN = {"issues", "specs", "reviews"}
WRITTEN_BY_HOOKS = ("flow-events", "runs.db", "typecheck", "sessions", "hooks", "watched", ".lock")


# Ways out of a mount namespace, each with a write behind it.
WRITE = "echo x >> /repo/.portolan/installed.json"
ESCAPES = [
    "umount -l /repo/.portolan; " + WRITE,
    "mount -o remount,rw,bind /repo/.portolan; " + WRITE,
    f"unshare -rm sh -c 'umount /repo/.portolan; {WRITE}'",
    f"unshare -rm sh -c 'mount -o remount,rw,bind /repo/.portolan; {WRITE}'",
    f"nsenter -t 1 -m sh -c '{WRITE}'",
    # Of those that it descends from but the first: that is the machine around, made for this test.
    "p=$PPID; while [ $p -gt 1 ]; do echo x >> /proc/$p/root/repo/.portolan/installed.json;"
    " echo x >> /proc/$p/cwd/.portolan/installed.json; p=$(cut -d' ' -f4 /proc/$p/stat); done",
    f"bwrap --bind / / sh -c '{WRITE}'",
    f"portolan sandbox -- sh -c '{WRITE}'",
    "ln /repo/.portolan/installed.json /repo/i; echo x >> /repo/i",
    "mv /repo/.portolan /repo/p",
    "mv /repo/.claude /repo/c; mkdir /repo/.claude",
    "mv /repo/.git/hooks /repo/.git/h",
    "rm -rf /repo/.portolan /repo/.claude /repo/.git/hooks /home/me/.gitconfig",
    "mkdir -p /home/me/.local/share/portolan; echo x > /home/me/.local/share/portolan/trust",
]


# What the page about the sandbox says that it does not hold: the permissions of the folder that the program is in.
NOT_HELD = ["chmod -R a-x /opt/bin/."]


def commands():
    """The commands that may write what holds the gates, each as one text."""
    for file in sorted(CASES.glob("*.txt")):
        text = []
        for line in [*file.read_text().splitlines(), ""]:
            if line.startswith("$ "):
                text = [line[2:]]
            elif line.startswith(">") and text:
                text.append(line[2:])
            elif line.startswith("= ") and text:
                if "protect-guards: block" in line or "protect-guards: ask" in line:
                    command = "\n".join(text)
                    if command not in NOT_HELD:
                        yield command
                text = []


def run(words, folder, environment, **more):
    more = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "errors": "replace"} | more
    return subprocess.run(words, cwd=folder, env=environment, **more)


def made(folder, portolan, *, copied):
    """A project with everything installed, its home, the program, and the environment. It is a copy where it may be written."""
    project, home = folder / "repo", folder / "home"
    project.mkdir(parents=True)
    (home / ".claude").mkdir(parents=True)
    program = portolan
    if copied:
        program = folder / "bin/portolan"
        program.parent.mkdir()
        shutil.copy(portolan, program)
    # The sandbox makes it where it is missing.
    (home / ".local/share/portolan").mkdir(parents=True)
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    (home / ".claude/settings.json").write_text("{}\n")
    path = f"{program.parent}:{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1", "CLAUDECODE": "1"}
    (project / "src").mkdir()
    (project / "src/a.rs").write_text("one\n")
    for line in ["init -q -b main .", "add -A", "commit -q -m chore:begin", "switch -q -c feat/1-greet"]:
        done = run(["git", *line.split()], project, environment)
        assert done.returncode == 0, done.stderr
    for target in ["claude-code", "git"]:
        done = run([str(program), "install", target, "--yes"], project, environment)
        assert done.returncode == 0, done.stderr
    for name in ["x", "x/.portolan", "x/.git/hooks"]:
        (project / name).mkdir(exist_ok=True, parents=True)
    (project / "x/.portolan/guidelines.yaml").write_text("strict: false\n")
    (project / "x/.git/hooks/pre-commit").write_text("#!/bin/sh\n")
    return project, home, program, environment


def state(project, home):
    """All that holds the gates: what each file is, and what is in it."""
    roots = [project / name for name in [".portolan", ".claude", ".mcp.json", ".git/hooks", ".git/config"]]
    roots += [home / name for name in [".gitconfig", ".claude", ".local/share/portolan"]]
    roots += [project.parent / "bin"]
    found = {}
    for root in roots:
        below = [Path(folder) / name for folder, *names in os.walk(root) for name in sum(names, [])]
        for path in [root, *below]:
            parts = path.relative_to(project.parent).parts
            if parts[:2] == ("repo", ".portolan") and len(parts) > 2 and (
                parts[2] in OPEN or parts[2].startswith(WRITTEN_BY_HOOKS) or parts[2].endswith(WRITTEN_BY_HOOKS)
            ):
                continue
            try:
                about = path.lstat()
            except OSError:
                found["/".join(parts)] = None
                continue
            if stat.S_ISLNK(about.st_mode):
                what = os.readlink(path)
            elif stat.S_ISREG(about.st_mode):
                what = hashlib.sha256(path.read_bytes()).hexdigest() if os.access(path, os.R_OK) else "closed"
            else:
                what = ""
            found["/".join(parts)] = (stat.filemode(about.st_mode), what)
    return found


def outside(folder, program, *, network=False):
    """A machine around it that is read-only but for `folder`, without a network unless one is wanted."""
    held = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    held += ["--ro-bind", str(program), str(program), "--bind", str(folder), str(folder)]
    alone = ["--unshare-pid", "--die-with-parent", "--cap-drop", "CAP_LINUX_IMMUTABLE"]
    return ["bwrap", *held, *alone, *([] if network else ["--unshare-net"]), "--"]


def meant(text, folder):
    """A command of the cases, with the paths of a project that is there."""
    paths = {"/repo": "repo", "/home/me": "home", "/opt/bin": "bin", "/opt/portolan": "bin"}
    for case, ours in paths.items():
        text = text.replace(case, str(folder / ours))
    return text


def restored(portolan, copied):
    """A project as `made` made it. Each thread has places of its own, since the installed hooks name their place."""
    made_before = MADE.__dict__.setdefault("projects", {})
    if copied in made_before:
        folder, there = made_before[copied]
        shutil.rmtree(folder, ignore_errors=True)
        run(["cp", "-a", f"{folder}.kept", str(folder)], ROOM, os.environ)
    else:
        folder = Path(tempfile.mkdtemp(dir=ROOM)).resolve()
        there = made(folder, portolan, copied=copied)
        made_before[copied] = folder, there
        run(["cp", "-a", str(folder), f"{folder}.kept"], ROOM, os.environ)
    return folder, *there


def changes(portolan, text, in_sandbox):
    """What a command changes of what holds the gates."""
    named = "portolan" in text.replace(".portolan", "").replace("share/portolan", "") or "/opt" in text
    folder, project, home, program, environment = restored(portolan, named)
    text = meant(text, folder)
    before = state(project, home)
    shell = ["bash", "-c", ': > ../ran; exec bash -c "$0"', text]
    if in_sandbox:
        shell = [str(program), "sandbox", "--", *shell]
    try:
        run([*outside(folder, portolan), *shell], project, environment, timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired:
        pass
    # Whoever closes the folders around takes nothing away: nothing works there then, git neither.
    for around in [folder, project, home]:
        if around.is_dir():
            around.chmod(0o755)
    after = state(project, home)
    run(["chmod", "-R", "u+rwX", str(folder)], ROOM, environment)
    assert (folder / "ran").exists(), f"this did not run at all: {text}"
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def evasions(portolan):
    texts = sorted(set(commands()))
    with ThreadPoolExecutor(2) as pool:
        free = list(pool.map(lambda text: changes(portolan, text, False), texts))
        held = list(pool.map(lambda text: changes(portolan, text, True), texts + ESCAPES))
    written = sum(1 for names in free if names)
    passed = [(text, names) for text, names in zip(texts + ESCAPES, held) if names]
    for text, names in passed:
        print(f"in the sandbox this changes {', '.join(names)}:\n  {text}")
    said = f"{written} change what holds the gates without the sandbox, {len(passed)} in it"
    print(f"{len(texts)} commands and {len(ESCAPES)} ways out: {said}", flush=True)
    assert written >= 40, "the commands do not do what they are there for"
    assert not passed
    assert all(changes(portolan, text, True) for text in NOT_HELD), "this is held: the page says that it is not"


SCRIPT = """\
echo x > .portolan/guidelines.yaml
echo '{}' > .claude/settings.json
echo '{}' > .claude/settings.local.json
echo x > .git/hooks/pre-commit
git config core.hooksPath /nowhere
mv .git .git2
echo written > src/b.rs
"""


def claude(portolan, folder):
    package = folder / "package"
    package.mkdir()
    binary = hosts.installed(package, ClaudeCode())
    if not binary:
        return
    project, home, portolan, environment = made(folder, portolan, copied=False)
    del environment["CLAUDECODE"]
    program = ClaudeCode()
    done = run([str(portolan), "install", "claude-code", "--sandbox", "--yes"], project, environment)
    assert done.returncode == 0, done.stderr
    moves = [
        ("write", program.edit(project / "src/evil.sh")),
        ("run", program.shell("bash src/evil.sh; true")),
        ("commit", program.shell("git add src/b.rs && git commit -q -m 'feat: b (#1)' && git log --oneline -1")),
        ("main", program.shell("printf 'git switch -q main && git commit -q --allow-empty -m x\\n' > src/m.sh; sh src/m.sh; true")),
        ("status", program.shell("portolan runs list")),
        ("count", program.shell("git rev-list --count main")),
        # What the guards would refuse as a command is run as scripts.
        ("all", program.shell("bash ../all.sh")),
    ]
    cases = folder / "cases"
    cases.mkdir()
    (folder / "all.sh").write_text("for f in ../cases/*.sh; do timeout 3 bash $f; done > ../said 2>&1; ls ../cases | wc -l\n")
    for number, text in enumerate([*sorted(set(commands())), *ESCAPES]):
        (cases / f"{number:03}.sh").write_text(f"cd {project}\n{meant(text, folder)}\n")
    moves[0][1].given["content"] = SCRIPT
    before = state(project, home)
    with Model({"The whole work.": moves}) as model:
        environment |= program.prepare(home, project, portolan, model.url)
        words = [*outside(folder, portolan, network=True), *program.command(str(binary), "The whole work.")]
        hosts.run(words, project, environment)
    results = model.results["The whole work."]
    hosts.check(not model.faults, f"the script has failed: {model.faults}", results)
    hosts.check(results.get("run", "").count("Read-only file system") >= 3, "the script writes", results)
    hosts.check(results.get("all", "").strip() == str(len(list(cases.iterdir()))), "not all of them ran", results)
    hosts.check("feat: b" in results.get("commit", ""), "nothing can be committed", results)
    hosts.check(results.get("count", "").strip() == "1", "something is committed on main", results)
    ours = {name for name in before if not name.startswith("home/.claude")}
    changed = sorted(name for name in ours if before[name] != state(project, home).get(name))
    hosts.check(not changed, f"changed: {changed}", results)
    log = (project / ".portolan/flow-events.jsonl").read_text()
    hosts.check('"toolName":"git post-commit"' in log, "the commit is not on record", results)
    print(f"claude-code {version_of(program)} in the sandbox: well", flush=True)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    portolan = Path(sys.argv[1]).resolve()
    if not shutil.which("bwrap") or run([*outside(Path(ROOM), portolan), "true"], ROOM, os.environ).returncode:
        print("NOT CHECKED: no sandbox, because `bwrap` is not here, or may make no namespaces")
        return
    stripped = Path(ROOM) / "portolan"
    if run(["strip", "-o", str(stripped), str(portolan)], ROOM, os.environ).returncode:
        stripped = portolan
    evasions(stripped)
    if not shutil.which("npm"):
        print("NOT CHECKED: no coding agent in the sandbox, because there is no npm here")
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True, dir=ROOM) as folder:
        claude(portolan, Path(folder).resolve())


if __name__ == "__main__":
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True, dir=memory) as ROOM:
        main()

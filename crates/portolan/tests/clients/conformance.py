"""Holds the MCP server and the MCP client against the official conformance suite and the official Inspector, both from npm.

    python3 crates/portolan/tests/clients/conformance.py target/debug/portolan

The suite calls tools, prompts and resources by names of its own: `portolan serve --conformance` has them, behind the
product's transport and dispatch. All required scenarios of two revisions must pass, and those of the extension for tasks,
which the suite does not require, without expected failures. As a client,
`portolan gate` stands before the suite's servers (`conformance_client.py`). The Inspector lists the product's own tools
strictly, over HTTP and standard input and output, in both eras.

Exit code 0: all went well, or the suite cannot be installed, which is said; 1: something failed, and it says what.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# `latest` of the suite does not know 2026-07-28. Both need Node 22, which is a package, too.
PACKAGES = ["node@22", "@modelcontextprotocol/conformance@0.2.0-alpha.12", "@modelcontextprotocol/inspector@2.12.0"]
REVISIONS = ["2026-07-28", "2025-11-25"]
ERAS = ["modern", "legacy"]
# The client scenarios, except for those about OAuth: credentials are headers of an entry.
CLIENT_SCENARIOS = {
    "2026-07-28": [
        "tools_call", "request-metadata", "http-standard-headers", "http-custom-headers", "http-invalid-tool-headers",
        "json-schema-ref-no-deref", "json-schema-2020-12-preservation", "sep-2322-client-request-state",
    ],
    "2025-11-25": [
        "initialize", "tools_call", "sse-retry", "json-schema-2020-12-preservation",
        "elicitation-sep1034-client-defaults",
    ],
}  # fmt: skip
# The server scenarios of the extension for tasks. The suite skips the one about notifications itself.
TASK_SCENARIOS = [
    "tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal",
    "tasks-mrtr-input", "tasks-request-headers", "tasks-dispatch-and-envelope", "tasks-required-task-error",
    "tasks-mrtr-composition",
]  # fmt: skip
MOST_SECONDS = 300


def installed(folder):
    (folder / "package.json").write_text('{"private": true}')
    words = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", *PACKAGES]
    done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    programs = folder / "node_modules/.bin"
    if done.returncode == 0 and (programs / "conformance").exists():
        return programs
    print(f"NOT CHECKED: the conformance suite cannot be installed here: {done.stderr.strip()[-300:]}")
    return None


@contextlib.contextmanager
def serving(program, project, environment, *arguments):
    """The address of a server."""
    words = [program, "serve", "--http", "127.0.0.1:0", "--no-auth", *arguments]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(words, cwd=project, env=environment, **streams) as server:
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def run(words, folder, environment):
    return subprocess.run(
        [str(word) for word in words], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=MOST_SECONDS,
    )  # fmt: skip


def failures(folder):
    for file in sorted(folder.glob("*/checks.json")):
        for check in json.loads(file.read_text()):
            if check["status"] == "FAILURE":
                yield f"{file.parent.name}: {check['id']}: {check.get('errorMessage', '')[:300]}"


def suite(programs, program, project, environment):
    with serving(program, project, environment, "--conformance") as address:
        for revision in REVISIONS:
            results = project / f"results-{revision}"
            words = [programs / "conformance", "server", "--url", address, "--requirements", revision, "-o", results]
            done = run(words, project, environment)
            total = re.findall(r"^Total: .*$", done.stdout, re.M)
            assert done.returncode == 0, "\n".join([*total, *failures(results)]) or done.stdout + done.stderr
            print(f"conformance {revision}: every required scenario passes ({total[-1]}, extensions included)")
        tasks(programs, project, environment, address)


def tasks(programs, project, environment, address):
    passed = 0
    for scenario in TASK_SCENARIOS:
        results = project / f"results-{scenario}"
        words = [programs / "conformance", "server", "--url", address, "--scenario", scenario, "-o", results]
        # Scenarios of extensions belong to no revision, and run only by force.
        done = run([*words, "--spec-version", "2026-07-28", "--force"], project, environment)
        total = re.findall(r"^Passed: (\d+)/(\d+), 0 failed, 0 warnings$", done.stdout, re.M)
        assert done.returncode == 0 and total and total[0][0] == total[0][1] != "0", (
            "\n".join([scenario, *failures(results)]) or done.stdout + done.stderr
        )
        passed += int(total[0][0])
    print(f"conformance, tasks: {len(TASK_SCENARIOS)} scenarios pass ({passed} checks)")


def client(programs, program, project, environment):
    itself = Path(__file__).with_name("conformance_client.py").resolve()
    for revision, scenarios in CLIENT_SCENARIOS.items():
        for scenario in scenarios:
            words = ["client", "--command", f"{sys.executable} {itself} {program}", "--scenario", scenario]
            done = run([programs / "conformance", *words, "--spec-version", revision], project, environment)
            assert done.returncode == 0, f"{scenario}, {revision}:\n{done.stdout}{done.stderr}"
        print(f"conformance {revision}: {len(scenarios)} client scenarios pass")


def inspector(programs, program, project, environment):
    listing = ["--method", "tools/list", "--strict", "--format", "json"]
    with serving(program, project, environment) as address:
        for era in ERAS:
            first = [programs / "mcp-inspector", "--cli", "-q"]
            over_http = [*first, address, "--transport", "http", "--protocol-era", era, *listing]
            over_stdio = [*first, "--protocol-era", era, *listing, "--", program, "serve"]
            for name, words in [("HTTP", over_http), ("stdio", over_stdio)]:
                done = run(words, project, environment)
                assert done.returncode == 0, f"{name}, {era}: {done.returncode}\n{done.stdout}{done.stderr}"
                assert '"Init"' in done.stdout, done.stdout
            print(f"inspector, {era}: strict over HTTP and stdio")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = str(Path(sys.argv[1]).resolve())
    if not shutil.which("npm"):
        print("NOT CHECKED: the conformance suite, because there is no npm here")
        return
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder).resolve()
        project = folder / "project"
        project.mkdir()
        if programs := installed(folder):
            environment = {
                **os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(folder),
                "PORTOLAN_DATA_DIR": str(folder / "person"), "MCP_INSPECTOR_SECRET_STORE": "memory",
            }  # fmt: skip
            suite(programs, program, project, environment)
            client(programs, program, project, environment)
            inspector(programs, program, project, environment)


if __name__ == "__main__":
    main()

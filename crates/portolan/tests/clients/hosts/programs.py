"""The coding agents: where they come from, how they are told of the model, and how they spell the tools that it uses."""

import json
import os

from interfaces import Use


class ClaudeCode:
    name, package, version, program = "claude-code", "@anthropic-ai/claude-code", "2.1.330", "claude"
    allowed = "Bash,Write,Task,mcp__portolan__*"

    def prepare(self, home, project, portolan, url):
        return {
            "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-ant-nobody", "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }  # fmt: skip

    def command(self, program, prompt):
        # Without a person nobody says yes to the server of a project: it is named here, as it was installed.
        words = [program, "-p", prompt, "--allowedTools", self.allowed, "--mcp-config", ".mcp.json"]
        return [*words, "--output-format", "stream-json", "--verbose"]

    def slash_commands(self, said):
        """What its user can type, as it says when it begins."""
        [first] = [event for event in map(json.loads, said.splitlines()) if event.get("subtype") == "init"]
        return first["slash_commands"]

    def portolan(self, tool, **given):
        return Use(f"mcp__portolan__{tool}", **given)

    def edit(self, path):
        return Use("Write", file_path=str(path), content="x = 1\n")

    def shell(self, command):
        return Use("Bash", command=command, description="a command")

    def subagent(self, prompt):
        given = {"description": "a part", "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": False}
        return [("subagent", Use("Task", **given))]


class Codex:
    name, package, version, program = "codex", "@openai/codex", "0.171.0", "codex"
    # A model that the program knows, because it gives others no tool that edits.
    model = "gpt-5.5"
    # Its shell carries out such a patch itself.
    writes = "apply_patch <<'E'\n*** Begin Patch\n*** Add File: early.py\n+x = 1\n*** End Patch\nE"

    def prepare(self, home, project, portolan, url):
        settings = home / ".codex/config.toml"
        settings.parent.mkdir()
        settings.write_text(f"""\
model = "{self.model}"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
[analytics]
enabled = false
[projects.{json.dumps(str(project))}]
trust_level = "trusted"
[mcp_servers.portolan]
command = {json.dumps(str(portolan))}
args = ["serve"]
""")
        return {"SCRIPTED_KEY": "nobody"}

    def command(self, program, prompt):
        # A person reads the hooks and trusts them with `/hooks`; here nobody can.
        return [program, "exec", "--json", "--dangerously-bypass-hook-trust", prompt]

    def portolan(self, tool, **given):
        return Use(tool, space="mcp__portolan", **given)

    def edit(self, path):
        return Use("apply_patch", text=f"*** Begin Patch\n*** Add File: {path.name}\n+x = 1\n*** End Patch\n")

    def shell(self, command):
        return Use("exec_command", cmd=command)

    def subagent(self, prompt):
        def wait(results):
            return Use("wait_agent", space="multi_agent_v1", targets=[json.loads(results[-1])["agent_id"]])

        return [("begun", Use("spawn_agent", space="multi_agent_v1", message=prompt)), ("subagent", wait)]


class Gemini:
    name, package, version, program = "gemini", "@google/gemini-cli", "0.61.0", "gemini"

    def prepare(self, home, project, portolan, url):
        settings = home / ".gemini/settings.json"
        settings.parent.mkdir()
        settings.write_text(json.dumps({
            "security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
        }))  # fmt: skip
        # In a folder that it does not trust it runs no hook and starts no server.
        trusted = {"GEMINI_CLI_TRUST_WORKSPACE": "true"}
        return {"GEMINI_API_KEY": "nobody", "GOOGLE_GEMINI_BASE_URL": url, **trusted}

    def command(self, program, prompt):
        return [program, "--yolo", "-m", "gemini-2.5-flash", "-p", prompt]

    def portolan(self, tool, **given):
        return Use(f"mcp_portolan_{tool}", **given)

    def edit(self, path):
        return Use("write_file", file_path=str(path), content="x = 1\n")

    def shell(self, command):
        return Use("run_shell_command", command=command, description="a command")

    def subagent(self, prompt):
        return [("subagent", Use("invoke_agent", agent_name="generalist", prompt=prompt))]

    def end(self):
        """What a subagent ends with; the others end by saying something."""
        return Use("complete_task", result="Done.")


class OpenCode:
    name, package, version, program = "opencode", "opencode-ai", "1.18.33", "opencode"
    model = "claude-sonnet-4-5"

    def prepare(self, home, project, portolan, url):
        settings = home / ".config/opencode/opencode.json"
        settings.parent.mkdir(parents=True)
        provider = {"options": {"baseURL": f"{url}/v1", "apiKey": "nobody"}, "models": {self.model: {}}}
        settings.write_text(json.dumps({
            "autoupdate": False, "share": "disabled", "provider": {"anthropic": provider},
            "model": f"anthropic/{self.model}", "small_model": f"anthropic/{self.model}",
            "permission": {"edit": "allow", "bash": "allow"},
        }))  # fmt: skip
        switches = ["AUTOUPDATE", "MODELS_FETCH", "DEFAULT_PLUGINS", "LSP_DOWNLOAD"]
        return {f"OPENCODE_DISABLE_{switch}": "1" for switch in switches}

    def command(self, program, prompt):
        return [program, "run", prompt]

    def portolan(self, tool, **given):
        return Use(f"portolan_{tool}", **given)

    def edit(self, path):
        return Use("write", filePath=str(path), content="x = 1\n")

    def shell(self, command):
        return Use("bash", command=command, description="a command")

    def subagent(self, prompt):
        return [("subagent", Use("task", description="a part", prompt=prompt, subagent_type="general"))]


PROGRAMS = [ClaudeCode(), Codex(), Gemini(), OpenCode()]


def version_of(program):
    """The version of its package; `CLAUDE_CODE`, `CODEX` and so on name another."""
    return os.environ.get(program.name.upper().replace("-", "_"), program.version)

// A project in a folder of its own, the real `portolan studio` over it, and an agent that walks its runs over MCP.
import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { front } from "./front.mjs";

const repository = join(dirname(fileURLToPath(import.meta.url)), "../..");

// Hosts of agents mark their shells: a studio that is started in one only shows.
const MARKERS = ["CLAUDECODE", "CODEX_SANDBOX", "CODEX_THREAD_ID", "COPILOT_CLI", "CURSOR_AGENT", "GEMINI_CLI", "OPENCODE"];

export class Project {
  constructor(binary, around = tmpdir()) {
    this.binary = binary;
    this.folder = mkdtempSync(join(around, "portolan-studio-"));
    this.path = join(this.folder, "harbour");
    mkdirSync(join(this.path, ".flow/workflows"), { recursive: true });
    this.env = { ...process.env, PORTOLAN_DATA_DIR: join(this.folder, "person"), USER: "ada" };
    for (const marker of MARKERS) delete this.env[marker];
    this.git("init", "-q");
  }

  git(...words) {
    const said = spawnSync("git", ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", ...words], { cwd: this.path, encoding: "utf8" });
    if (said.status !== 0) throw new Error(`git ${words.join(" ")}: ${said.stderr}`);
    return said.stdout;
  }

  /** Takes an example of the repository over, as a definition of the project. */
  example(from, to) {
    cpSync(join(repository, from), join(this.path, ".flow/workflows", to), { recursive: true });
  }

  /** Has the project's own version of a workflow of the catalogue, at which an agent's word is enough. */
  believe(id) {
    const file = JSON.parse(readFileSync(join(repository, `crates/portolan-runtime/catalog/workflows/${id}.json`), "utf8"));
    for (const node of Object.values(file.nodes)) {
      delete node.accept;
      delete node.deny;
    }
    this.write(`.flow/workflows/${id}.json`, JSON.stringify(file, null, 2));
  }

  write(file, text) {
    const path = join(this.path, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  read(file) {
    return readFileSync(join(this.path, file), "utf8");
  }

  commit() {
    this.git("add", "-A");
    this.git("commit", "-qm", "as it was");
  }

  /** What the command line says. */
  says(...words) {
    const said = spawnSync(this.binary, words, { cwd: this.path, env: this.env, encoding: "utf8" });
    return said.stdout + said.stderr;
  }

  studio(...words) {
    return Studio.start(this, words);
  }

  agent(...words) {
    return new Agent(this, words);
  }

  remove() {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Where the page of a studio is, by the port of the studio: one that starts anew there has its page there, too. */
const fronts = new Map();

export class Studio {
  /** `within` is what the program is started by: words that go before it. */
  static async start(project, words, within = []) {
    const [program, ...all] = [...within, project.binary, "studio", "--format", "json", ...words];
    const child = spawn(program, all, { cwd: project.path, env: project.env, stdio: ["ignore", "pipe", "inherit"] });
    let said = "";
    for await (const chunk of child.stdout) {
      said += chunk;
      if (said.trimEnd().endsWith("}")) break;
    }
    const studio = new Studio();
    studio.child = child;
    studio.address = JSON.parse(said).address;
    [studio.base, studio.token] = studio.address.split("#token=");
    studio.port = new URL(studio.base).port;
    studio.page = studio.base;
    // PAGE=dist has the page come from the folder, and not from the binary.
    if (process.env.PAGE === "dist") {
      studio.front = await front(studio.base, fronts.get(studio.port));
      fronts.set(studio.port, studio.front.port);
      studio.page = studio.front.base;
    }
    return studio;
  }

  /** The address of a screen, with the token. */
  at(route) {
    return `${this.page}#${route}&token=${this.token}`;
  }

  async ask(path, options = {}) {
    const headers = { Authorization: `Bearer ${this.token}`, "content-type": "application/json" };
    const response = await fetch(`${this.base}api/v1${path}`, { ...options, headers });
    return response.json();
  }

  post(path, body) {
    return this.ask(path, { method: "POST", body: JSON.stringify(body) });
  }

  kill(signal = "SIGKILL") {
    this.front?.close();
    const gone = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.kill(signal);
    return gone;
  }
}

/** A client of a server over MCP. */
export class Client {
  constructor(project, words) {
    this.child = spawn(project.binary, words, { cwd: project.path, env: project.env, stdio: ["pipe", "pipe", "ignore"] });
    this.waiting = new Map();
    this.last = 0;
    createInterface({ input: this.child.stdout }).on("line", (line) => {
      const message = JSON.parse(line);
      this.waiting.get(message.id)?.(message);
    });
  }

  request(method, params) {
    const id = ++this.last;
    const answered = new Promise((resolve) => this.waiting.set(id, resolve));
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return answered;
  }

  async begin() {
    await this.request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "pilot", version: "1" } });
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
    return this;
  }

  end() {
    this.child.kill();
  }
}

/** An agent that knows the calls of the toolset `tasks`. */
export class Agent extends Client {
  constructor(project, words = []) {
    super(project, ["serve", "--toolset", "tasks", ...words]);
  }

  async call(name, args) {
    const answer = await this.request("tools/call", { name, arguments: args });
    if (answer.error) throw new Error(JSON.stringify(answer.error));
    const text = answer.result.content[0].text;
    if (answer.result.isError) throw new Error(text);
    return answer.result.structuredContent ?? JSON.parse(text);
  }

  /** Begins a run in the store. */
  async open(workflow, description) {
    const told = await this.call("Init", { workflowType: workflow, description });
    this.run = told.run ?? told.position?.run ?? told.actions?.required?.[0]?.arguments?.run;
    const started = await this.call("Start", { run: this.run });
    this.told = started;
    return this.run;
  }

  /** Reports an outcome at the position where the agent is. */
  async next(result, note) {
    const actions = [...(this.told.actions?.required ?? []), ...(this.told.actions?.optional ?? [])];
    const offered = actions.find((action) => action.tool === "Next" && action.arguments.result === result);
    if (!offered) throw new Error(`${result} is not offered: ${JSON.stringify(this.told.actions)}`);
    this.told = await this.call("Next", { ...offered.arguments, ...(note ? { note } : {}) });
    return this.told;
  }
}

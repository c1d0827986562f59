// Runs of the mock that are driven: they pause, go on by a node, wait at breakpoints, and have values changed.
import { makeRun } from "./runs.mjs";

const STEPS_A_NODE = 4;

export function makeTry(run, d, wanted, emit, refuse) {
  const self = makeRun(run, d, 1, { driven: { phase: "paused", before: null, breakpoints: [], failed: null, fault: null }, changed: {}, input: wanted.input ?? {} });
  const order = d.nodes.filter((n) => !n.container && n.kind !== "end").map((n) => n.id);
  const { driven } = self;
  let at = 0;
  const inform = (breakpoints) => (driven.breakpoints = breakpoints.map((b) => (typeof b === "string" ? { node: b, when: null } : { node: b.node, when: b.when ?? null })));
  inform(wanted.breakpoints ?? []);
  const pause = () => Object.assign(driven, { phase: "paused", before: order[at] });
  const end = () => {
    Object.assign(driven, { phase: "finished", before: null });
    self.over = true;
    emit(self, self.steps.at(-1));
  };
  const pass = () => {
    if (at > 0 || self.steps.length > 1) self.grow(STEPS_A_NODE).forEach((record) => emit(self, record));
    else self.grow(STEPS_A_NODE - 1).forEach((record) => emit(self, record));
    at += 1;
  };
  const stopsAt = () => {
    const found = driven.breakpoints.find((b) => b.node === order[at]);
    if (!found) return false;
    driven.fault = found.when?.includes("?") ? `unexpected \`?\` in \`${found.when}\`` : null;
    return found.when !== "false";
  };
  const go = () => {
    if (driven.phase !== "running") return;
    pass();
    if (at >= order.length) return end();
    if (stopsAt()) return pause();
    setTimeout(go, 60);
  };
  const resume = () => {
    Object.assign(driven, { phase: "running", before: null, fault: null, failed: null });
    setTimeout(go, 60);
  };
  self.control = (command) => {
    if (command.breakpoints) inform(command.breakpoints);
    if (command.set) {
      if (driven.phase !== "paused") refuse("the run does not wait before a node", "pause it first");
      Object.assign(self.changed, command.set.values);
      self.grow(1).forEach((record) => emit(self, record));
    }
    if (command.do === "pause") pause();
    if (command.do === "stop") Object.assign(driven, { phase: "stopped", before: null });
    if (command.do === "resume") resume();
    if (command.do === "step" || command.do === "over") {
      pass();
      if (at >= order.length) end();
      else pause();
    }
    return driven;
  };
  if (wanted.paused || stopsAt()) pause();
  else resume();
  return self;
}

/** What the schema of an input may say, and what a form makes of it. */
export const INPUT = {
  type: "object",
  properties: {
    folder: { type: "string", default: ".", description: "Whose files are counted." },
    depth: { type: "integer", minimum: 1, maximum: 9, description: "How many folders deep." },
    order: { enum: ["largest first", "by name"], default: "largest first" },
    hidden: { type: "boolean", description: "Files whose names begin with a dot as well." },
    only: { type: "array", items: { type: "string" }, description: "Endings of the files." },
    token: { type: "string", writeOnly: true, description: "For files of others." },
  },
  required: ["depth"],
};

export const PROJECT = {
  trust: {
    trusted: [
      { key: "4c5705d77d5ff90e7fc3022f1d485b57a8b9419f93d9c4af2de789cce19b9fa1", file: "/home/ada/compiler/.flow/workflows/release.json", at: "2026-11-20T10:12:00Z", runs: [{ node: "test", argv: ["cargo", "test", "--workspace"] }, { node: "tag", argv: ["git", "describe", "--exact-match"] }] },
      { key: "870e1bb6421b7d9ea126fe9a4f17e2c539c0ba06c984f60ac88bc02a7d70b47f", file: "/home/ada/compiler/.flow/workflows/inventory.yaml", at: "2026-11-23T16:40:00Z", runs: [{ node: "files", argv: ["npx", "-y", "server-filesystem", "."] }] },
    ],
    unreadable: [],
  },
  log: { path: "/home/ada/compiler/.portolan/flow-events.jsonl", lines: 4211, head: "b1946ac92492d2347c6235b4d2611184b1946ac92492d2347c6235b4d2611184", fault: null },
  hooks: {
    installed: true,
    findings: [
      { about: "claude", state: "good", message: "`.claude/settings.json` calls the gate before each tool" },
      { about: "git", state: "doubtful", message: "`pre-push` was changed after it was installed" },
      { about: "codex", state: "wrong", message: "the hook names a program that is not there: `/opt/portolan`" },
    ],
  },
};

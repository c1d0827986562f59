// Runs of the mock: a walk over a definition's edges makes records, and any prefix of them is a moment.

const AUTHORS = [{ is: "agent", name: "claude" }, { is: "engine", name: null }, { is: "agent", name: "codex" }];
const START = Date.parse("2026-11-24T09:00:00Z");

export function makeRun(run, d, length, more = {}) {
  const self = { run, d, steps: [], origin: null, description: null, waiting: false, over: false, ...more };
  const leaves = d.nodes.filter((n) => !n.container && n.kind !== "end");
  let seed = 7;
  const random = (n) => (seed = (seed * 16807) % 2147483647) % n;
  let at = 0;
  self.grow = (count = 1) => {
    const made = [];
    for (let i = 0; i < count; i++) {
      const seq = self.steps.length + 1;
      const node = leaves[at % leaves.length];
      const act = ["entered", "reported", "checked", "left"][seq % 4];
      const failed = act === "checked" && random(5) === 0;
      const person = node.kind === "checkpoint" && act === "left";
      if (act === "left" && !failed) at += 1;
      if (at >= leaves.length) at = Math.floor(leaves.length / 3);
      const record = {
        seq, at: START + seq * 7300, by: person ? { is: "person", name: "ada" } : AUTHORS[seq % 3], kind: failed ? "check.failed" : `step.${act}`,
        text: failed ? `The check of “${node.name}” does not hold: 2 tests failed` : { entered: `Entered “${node.name}”`, reported: `Reported the result of “${node.name}”`, checked: `The checks of “${node.name}” hold`, left: `Left “${node.name}” with passed` }[act],
        nodes: [node.id],
      };
      self.steps.push({ ...record, failed, act });
      made.push(record);
    }
    return made;
  };
  self.grow(length);
  return self;
}

export function statusOf(r) {
  if (r.over) return "success";
  if (r.waiting) return "waiting";
  return r.steps.at(-1)?.act === "checked" ? "checking" : "working";
}

export const stepOf = (r) => r.d.nodes.find((n) => n.id === r.steps.at(-1)?.nodes[0])?.name ?? "";

export function overlayOf(r, seq) {
  const nodes = {};
  const edges = new Map();
  let last = null;
  for (const step of r.steps.slice(0, seq)) {
    const id = step.nodes[0];
    const node = (nodes[id] ??= { state: "done", visits: 0, failures: 0, used: 0, budget: r.d.nodes.find((n) => n.id === id)?.budget ?? undefined });
    if (id !== last) {
      node.visits += 1;
      const key = `${last}\n${id}`;
      edges.set(key, (edges.get(key) ?? 0) + 1);
      last = id;
    }
    node.state = "done";
    if (step.failed) {
      node.failures += 1;
      node.worst = "failed";
      node.used = Math.min(node.budget ?? 0, node.used + 1);
      node.state = "failed";
    }
  }
  if (last && nodes[last]) nodes[last].state = r.over && seq === r.steps.length ? "done" : r.waiting && seq === r.steps.length ? "waiting" : r.steps[seq - 1].act === "checked" ? (r.steps[seq - 1].failed ? "failed" : "checking") : "here";
  for (const n of r.d.nodes) {
    if (n.kind === "join" && nodes[n.id]) nodes[n.id].arrived = { done: 2, of: 3 };
    if (!n.container) continue;
    const inside = Object.keys(nodes).filter((id) => id.startsWith(`${n.id}/`));
    if (inside.length === 0) continue;
    const passes = Math.max(...inside.map((id) => nodes[id].visits));
    nodes[n.id] = { state: inside.includes(last) ? "here" : "done", worst: inside.some((id) => nodes[id].failures) ? "failed" : undefined, visits: 1, failures: 0, used: 0 };
    if (n.kind === "loop" || n.kind === "forEach") nodes[n.id].pass = { number: passes, of: n.kind === "forEach" ? passes + 2 : undefined };
  }
  if (nodes.scope) {
    nodes.patch = { state: "skipped", visits: 0, failures: 0, used: 0 };
  }
  return { nodes, edges: [...edges].map(([key, count]) => ({ from: key.split("\n")[0], to: key.split("\n")[1], count })) };
}

export function momentOf(r, seq) {
  const step = r.steps[seq - 1];
  const node = r.d.nodes.find((n) => n.id === step?.nodes[0]);
  return {
    seq, at: step?.at ?? START,
    situation: { step: node?.id, actions: ["report", "ask"] },
    words: `You are at “${node?.name}” of ${r.d.name}.\n\nList the commits since the last tag. Write CHANGELOG.md so that a user learns what changed for them.\n\nRecord ${seq} was: ${step?.text}.\n\nYou may:\n  report passed    the work is done\n  report failed    something is in the way\n  ask              a person decides`,
    overlay: overlayOf(r, seq),
    values: [
      { frame: "", value: { version: `1.${Math.floor(seq / 20)}.0`, platforms: ["linux", "macos"], attempts: seq % 5, approved: seq > 300, notes: { added: ["a", "b"].slice(0, seq % 3), text: "Long ".repeat(40) } } },
      ...(seq > 10 ? [{ frame: "review/2", value: { found: seq % 7, reviewer: "ada" } }] : []),
    ],
  };
}

export function visitsOf(r, id, seq) {
  const visits = [];
  let last = null;
  for (const step of r.steps.slice(0, seq)) {
    if (step.nodes[0] !== id) { last = step.nodes[0]; continue; }
    if (last !== id) {
      visits.push({ at: id, seq: step.seq, began: step.at, ended: step.at + 2_340, retries: 0, input: { folder: ".", since: "v1.4.0" }, output: { files: 12, largest: ["a.rs", "b.rs"] }, reports: [{ by: { is: "agent", name: "claude" }, outcome: "passed" }], spent: { input_tokens: 18234, output_tokens: 912, microdollars: 42100 },
        messages: [{ role: "user", text: "Write the release notes." }, { role: "assistant", text: "I read the 14 commits since v1.4.0 and wrote CHANGELOG.md." }], checks: [{ id: "notes", held: true, reason: "CHANGELOG.md changed" }] });
    }
    last = id;
    if (step.failed) {
      const v = visits.at(-1);
      v.retries += 1;
      v.checks.push({ id: "tests", held: false, reason: "cargo test exited with 101", output: "test layout::keeps_order ... FAILED\ntest result: FAILED. 211 passed; 2 failed" });
    }
  }
  return { visits };
}

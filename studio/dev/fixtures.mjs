// Definitions and runs that show every kind of node and every state.

const node = (id, kind, name, more = {}) => ({ id, kind, name, parent: id.includes("/") ? id.slice(0, id.lastIndexOf("/")) : null, ...more });
const edge = (from, to, more = {}) => ({ from, to, ...more });

const release = {
  id: "release", name: "Release", dialect: "navigator", led: true,
  description: "Cuts a release that a person approves; tests and notes are checked, not claimed.",
  nodes: [
    node("start", "start", "Start"),
    node("plan", "task", "Plan the release", { detail: "developer" }),
    node("scope", "switch", "Which kind of release?", { detail: "3 ways" }),
    node("notes", "task", "Write the release notes", { detail: "developer", checks: 1 }),
    node("patch", "task", "Collect the fixes", { detail: "developer" }),
    node("major", "task", "Write the migration guide", { detail: "writer", checks: 2 }),
    node("ready", "task", "Bring it together", { detail: "developer" }),
    node("fork", "fork", "On each platform"),
    node("linux", "task", "Build for Linux", { detail: "builder", checks: 1 }),
    node("macos", "task", "Build for macOS", { detail: "builder", checks: 1 }),
    node("windows", "task", "Build for Windows", { detail: "builder", checks: 1 }),
    node("join", "join", "All platforms"),
    node("test", "gate", "Test", { detail: "tester", budget: 3, checks: 1 }),
    node("repair", "task", "Repair", { detail: "developer" }),
    node("audit", "subflow", "Audit the change", { detail: "audit", container: true, shut: true }),
    node("audit/read", "task", "Read the difference", { detail: "auditor" }),
    node("audit/rate", "gate", "Rate the risk", { detail: "auditor", budget: 2 }),
    node("audit/done", "end", "Audited", { result: "success" }),
    node("review", "loop", "Review rounds", { detail: "at most 5", container: true }),
    node("review/ask", "task", "Ask for a review", { detail: "developer" }),
    node("review/fix", "task", "Fix what was found", { detail: "developer" }),
    node("review/again", "gate", "Is it good?", { budget: 2 }),
    node("approve", "checkpoint", "Approve the release", { detail: "a person decides" }),
    node("stuck", "checkpoint", "Tests keep failing", { detail: "a person decides" }),
    node("tag", "task", "Tag the release", { detail: "developer", checks: 1 }),
    node("announce", "task", "Announce it", { detail: "writer" }),
    node("mirror", "task", "Fill the mirrors", { detail: "builder" }),
    node("check_mirror", "gate", "Are the mirrors equal?", { budget: 8, detail: "builder" }),
    node("released", "end", "Released", { result: "success" }),
    node("dropped", "end", "Not released", { result: "cancelled" }),
    node("failed", "end", "Failed", { result: "failure" }),
  ],
  edges: [
    edge("start", "plan"), edge("plan", "scope"),
    edge("scope", "patch", { text: "patch", kind: "guard" }), edge("scope", "notes", { text: "minor", kind: "guard" }), edge("scope", "major", { text: "major", kind: "guard" }),
    edge("patch", "ready"), edge("notes", "ready"), edge("major", "ready"), edge("ready", "fork"),
    edge("fork", "linux"), edge("fork", "macos"), edge("fork", "windows"), edge("linux", "join"), edge("macos", "join"), edge("windows", "join"),
    edge("join", "test"), edge("test", "repair", { text: "failed", on: "failed", kind: "outcome" }), edge("repair", "test"),
    edge("test", "stuck", { text: "Still failing", on: "failed", kind: "failed" }), edge("stuck", "repair", { text: "The obstacle is gone", kind: "outcome" }), edge("stuck", "dropped", { text: "cancelled", kind: "outcome" }),
    edge("test", "audit", { text: "passed", on: "passed", kind: "outcome" }), edge("audit", "review"), edge("audit", "failed", { implied: true, kind: "failed" }),
    edge("audit/read", "audit/rate"), edge("audit/rate", "audit/done", { text: "passed", kind: "outcome" }),
    edge("review/ask", "review/again"), edge("review/again", "review/fix", { text: "failed", kind: "outcome" }), edge("review/fix", "review/ask", { implied: true }),
    edge("review", "approve"), edge("approve", "tag", { text: "Publish", kind: "outcome" }), edge("approve", "dropped", { text: "Not now", kind: "outcome" }),
    edge("tag", "announce"), edge("tag", "mirror"), edge("mirror", "check_mirror"), edge("check_mirror", "mirror", { text: "failed", kind: "outcome" }), edge("check_mirror", "released"), edge("announce", "released"),
  ],
  problems: [
    { code: "unreachable-branch", severity: "warning", message: "Nothing after “Announce it” waits for the mirrors.", help: "Join the two branches before the end.", node: "announce" },
    { code: "no-accept", severity: "error", message: "The task “Tag the release” claims a tag but checks none.", help: "Add an `accept` entry.", node: "tag" },
  ],
};

const activities = {
  id: "work-package", name: "Work package", dialect: "activity", led: true, description: "A package of work is designed, built, and handed over, with a rehearsal mode.",
  nodes: [], edges: [],
};
["Prepare", "Design", "Build", "Verify", "Hand over"].forEach((name, i) => {
  const id = name.toLowerCase().replace(" ", "-");
  activities.nodes.push(node(id, "activity", name, { container: true, detail: "4 steps" }));
  ["Read what there is", "Do the work", "Write it down"].forEach((step, j) => activities.nodes.push(node(`${id}/s${j}`, "task", step, { detail: j === 1 ? "skill: craft" : "", checks: j === 2 ? 1 : 0 })));
  activities.nodes.push(node(`${id}/cp`, "checkpoint", i === 1 ? "Which design?" : "Go on?", { detail: "blocking" }));
  activities.edges.push(edge(`${id}/s0`, `${id}/s1`, { implied: true }), edge(`${id}/s1`, `${id}/s2`, { implied: true }), edge(`${id}/s2`, `${id}/cp`, { implied: true }));
  if (i > 0) activities.edges.push(edge(activities.nodes.at(-10).parent ?? activities.nodes.at(-10).id, id, { text: "done" }));
});
activities.nodes.push(node("build/tasks", "loop", "Each task", { container: true, parent: "build", detail: "over tasks" }), node("build/tasks/do", "task", "Do the task"), node("build/tasks/see", "gate", "Does it work?", { budget: 2 }));
activities.edges.push(edge("build/tasks/do", "build/tasks/see"), edge("build/s0", "build/tasks", { implied: true }));

const tools = {
  id: "inventory", name: "Inventory of a folder", dialect: "toolgraph", led: false, description: "What a folder holds, the largest first.",
  nodes: [
    node("entry", "start", "inventory", { detail: "folder" }), node("list", "mcp", "list", { detail: "files › list_directory", budget: 2 }),
    node("any", "switch", "Is there any?", {}), node("sizes", "forEach", "sizes", { detail: "4 at a time", container: true }), node("sizes/stat", "mcp", "size_of", { detail: "files › stat", budget: 2 }),
    node("sizes/shape", "transform", "shape", { detail: "{ path, bytes }" }),
    node("result", "transform", "result", { detail: "files, bytes, largest" }), node("no_folder", "transform", "no_folder", { detail: "nothing" }), node("exit", "end", "exit", { result: "success" }),
  ],
  edges: [
    edge("entry", "list"), edge("list", "any"), edge("list", "no_folder", { text: "onError", kind: "failed" }), edge("any", "sizes", { text: "$count($.list) > 0", kind: "guard" }),
    edge("any", "no_folder", { text: "otherwise", kind: "guard" }), edge("sizes/stat", "sizes/shape"), edge("sizes", "result"), edge("result", "exit"), edge("no_folder", "exit"),
  ],
};

const states = {
  id: "research", name: "Research", dialect: "states", led: false, description: "Plans, searches and writes until the critic is content.",
  nodes: ["plan", "search", "read", "write", "critic", "publish"].map((id) => node(id, "state", id, { detail: "model" })).concat([node("end", "end", "done", { result: "success" })]),
  edges: [edge("plan", "search"), edge("search", "read"), edge("read", "search", { text: "more" }), edge("read", "write", { text: "enough" }), edge("write", "critic"), edge("critic", "write", { text: "again" }), edge("critic", "publish", { text: "content" }), edge("publish", "end")],
};

const hostile = {
  id: "<img src=x onerror=alert(1)>", name: "<img src=x onerror=alert(1)>", dialect: "phases", led: true, description: "<script>alert(1)</script> and \"quotes\" stay text.",
  nodes: [node("a", "start", "<b>bold</b>"), node("b", "task", "<img src=x onerror=alert(2)>", { detail: "\"><script>" }), node("c", "end", "end", { result: "success" })],
  edges: [edge("a", "b", { text: "<i>label</i>" }), edge("b", "c")],
};

const large = { id: "large", name: "A thousand steps", dialect: "navigator", led: true, description: "25 stages of 8 lanes with 5 steps each.", nodes: [node("start", "start", "Start")], edges: [] };
let before = "start";
for (let s = 0; s < 25; s++) {
  const stage = `s${s}`;
  const gate = `gate${s}`;
  for (let l = 0; l < 8; l++) {
    for (let t = 0; t < 5; t++) {
      const id = `${stage}-${l}-${t}`;
      large.nodes.push(node(id, ["task", "task", "gate", "mcp", "transform"][t], `Step ${s + 1}.${l + 1}.${t + 1}`, { detail: "developer", budget: t === 2 ? 3 : null, checks: t === 2 ? 1 : 0 }));
      large.edges.push(t === 0 ? edge(before, id) : edge(`${stage}-${l}-${t - 1}`, id));
    }
    large.edges.push(edge(`${stage}-${l}-4`, gate));
  }
  large.nodes.push(node(gate, s % 5 === 4 ? "checkpoint" : "join", `Stage ${s + 1} done`));
  before = gate;
}
large.nodes.push(node("end", "end", "Done", { result: "success" }));
large.edges.push(edge(before, "end"));

export const definitions = [release, activities, tools, states, hostile, large];

const write = (value) => `${JSON.stringify(value, null, 2)}\n`;
const written = (nodes) => Object.fromEntries(nodes.map(({ id, kind, detail, budget, parent, ...more }) => [id, { type: kind, ...more, ...(detail ? { agent: detail } : {}), ...(budget ? { maxRetries: budget } : {}), ...(parent !== null && !id.startsWith(`${parent}/`) ? { parent } : {}) }]));

for (const d of definitions) {
  const { id, name, description } = d;
  // One of them is spread over two files.
  const isLate = (node) => d === activities && /^(verify|hand-over)/.test(node);
  const parts = [{ id, name, description, nodes: written(d.nodes.filter((n) => !isLate(n.id))), edges: d.edges.filter((e) => !isLate(e.from)) }];
  if (d === activities) parts.push({ nodes: written(d.nodes.filter((n) => isLate(n.id))), edges: d.edges.filter((e) => isLate(e.from)) });
  d.revision = 1;
  d.files = parts.map((part, i) => ({ name: i === 0 ? "workflows/workflow.json" : "workflows/late.json", text: write(part), language: "json" }));
}

// What the mock can say and do about a text: enough of an editor of definitions to work on the page without the engine.
import { layout } from "./layout.mjs";

/** Reads JSON with the places of what it holds: `{ value, from, to, members | items }`. */
function parse(text) {
  let at = 0;
  const fail = (message) => {
    throw Object.assign(new Error(message), { at });
  };
  const space = () => {
    while (/\s/.test(text[at] ?? "")) at += 1;
  };
  const expect = (sign) => (text[at] === sign ? (at += 1) : fail(`\`${sign}\` is expected here`));
  function value() {
    space();
    const from = at;
    const done = (more) => ({ ...more, from, to: at });
    if (text[at] === "{") {
      at += 1;
      const members = new Map();
      for (space(); text[at] !== "}"; space()) {
        if (members.size > 0) (expect(","), space());
        const key = value();
        if (typeof key.value !== "string") fail("a name in quotes is expected here");
        space();
        expect(":");
        members.set(key.value, { ...value(), keyFrom: key.from });
      }
      at += 1;
      return done({ value: Object.fromEntries([...members].map(([name, member]) => [name, member.value])), members });
    }
    if (text[at] === "[") {
      at += 1;
      const items = [];
      for (space(); text[at] !== "]"; space()) {
        if (items.length > 0) expect(",");
        items.push(value());
      }
      at += 1;
      return done({ value: items.map((item) => item.value), items });
    }
    const token = /^(?:"(?:[^"\\\n]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null)/.exec(text.slice(at))?.[0];
    if (!token) fail("a value is expected here");
    at += token.length;
    return done({ value: JSON.parse(token) });
  }
  const whole = value();
  space();
  if (at < text.length) fail("nothing is expected here any more");
  return whole;
}

const lineOf = (text, offset) => {
  const before = text.slice(0, offset).split("\n");
  return { line: before.length, column: before.at(-1).length + 1 };
};

const FIELDS = {
  name: { path: "name", label: "Name", help: "What people read.", type: "text", required: false },
  agent: { path: "agent", label: "Agent", help: "Who does it.", type: "text", required: false },
  instructions: { path: "instructions", label: "Instructions", help: "What the agent is told.", type: "long", required: false },
  maxRetries: { path: "maxRetries", label: "Retries", help: "How often it is tried again.", type: "number", default: 0, required: false },
  condition: { path: "condition", label: "Condition", help: "When it holds.", type: "expression", required: false },
  reads: { path: "reads", label: "Reads", help: "Files.", type: "list", required: false },
  result: { path: "result", label: "Result", help: "How the run ends.", type: "choice", choices: ["success", "failure", "blocked", "cancelled"], default: "success", required: false },
  lenient: { path: "lenient", label: "Lenient", help: "Warnings are no errors.", type: "boolean", default: false, required: false },
  accept: { path: "accept", label: "Accepted when", help: "What is checked.", type: "json", required: false },
};
const kind = (word, label, help, fields, more = {}) => ({ kind: word, label, help, fields: fields.map((name) => FIELDS[name]), outcomes: false, addable: true, apart: false, ...more });
export const palette = [
  kind("task", "Task", "Something an agent does.", ["name", "agent", "instructions", "maxRetries", "reads", "accept"]),
  kind("gate", "Gate", "Something that holds or does not.", ["name", "agent", "condition", "maxRetries", "lenient"], { outcomes: true }),
  kind("checkpoint", "Checkpoint", "A person decides.", ["name", "instructions"], { outcomes: true }),
  kind("end", "End", "The run ends here.", ["name", "result"]),
  kind("start", "Start", "The run begins here.", ["name"], { addable: false }),
];
export const fields = [
  { path: "name", label: "Name", help: "What people read.", type: "text", required: true },
  { path: "description", label: "Description", help: "What it is for.", type: "long", required: false },
];
const OUTCOMES = { gate: ["passed", "failed"], checkpoint: ["passed", "failed", "cancelled"] };

/** The model of several texts, or where one cannot be read. */
function read(files) {
  const nodes = [];
  const edges = [];
  const places = { nodes: {}, edges: [] };
  let own = {};
  for (const [file, { text }] of files.entries()) {
    let whole;
    try {
      whole = parse(text);
    } catch (error) {
      const at = Math.min(error.at ?? 0, text.length);
      return { broken: { code: "syntax", severity: "error", message: error.message, help: null, place: { file, from: at, to: Math.min(text.length, at + 1), ...lineOf(text, at) }, node: null } };
    }
    const place = (from, to) => ({ file, from, to, ...lineOf(text, from) });
    for (const [id, { value, keyFrom, to }] of whole.members?.get("nodes")?.members ?? []) {
      const { type, name, agent, maxRetries, parent, ...more } = value;
      nodes.push({ ...more, id, kind: type, name: name ?? id, detail: agent ?? more.detail, budget: maxRetries, parent: parent ?? (id.includes("/") ? id.slice(0, id.lastIndexOf("/")) : null), raw: value, file });
      places.nodes[id] = place(keyFrom, to);
    }
    for (const item of whole.members?.get("edges")?.items ?? []) {
      edges.push(item.value);
      places.edges.push(place(item.from, item.to));
    }
    const { nodes: _nodes, edges: _edges, ...rest } = whole.value;
    own = { ...rest, ...own };
  }
  return { nodes, edges, places, own };
}

export function check(files, { folded, opened } = {}, fixed = []) {
  const model = read(files);
  if (model.broken) return { sound: false, drawing: null, problems: [model.broken], about: {}, edges: {}, own: { values: {} }, undecided: false, took: 212 };
  const { nodes, edges, places, own } = model;
  const ids = new Set(nodes.map((n) => n.id));
  const known = edges.filter((e) => ids.has(e.from) && ids.has(e.to));
  const drawing = layout(nodes, known, folded, opened);
  for (const drawn of drawing.edges) drawn.number = edges.findIndex((e) => e.from === drawn.from && e.to === drawn.to && (e.on ?? null) === drawn.on && (e.text ?? null) === drawn.text);
  const problems = fixed.filter((p) => ids.has(p.node)).map((p) => ({ ...p, place: places.nodes[p.node] }));
  edges.forEach((e, i) => {
    for (const end of ["from", "to"]) if (!ids.has(e[end])) problems.push({ code: "unknown-node", severity: "error", message: `There is no step “${e[end]}”.`, help: null, place: places.edges[i], node: null });
  });
  for (const n of nodes) if (!known.some((e) => e.to === n.id || e.from === n.id) && !n.container && nodes.length > 1 && n.parent === null) problems.push({ code: "unconnected", severity: "error", message: `Nothing leads to “${n.name}”.`, help: "Connect it.", place: places.nodes[n.id], node: n.id });
  const about = Object.fromEntries(nodes.map((n) => {
    const { type, ...values } = n.raw;
    return [n.id, {
      kind: n.kind, word: palette.some((k) => k.kind === n.kind) ? n.kind : null, id: n.id, name: n.name, place: places.nodes[n.id], values,
      editable: !n.id.includes("/") && palette.some((k) => k.kind === n.kind), ...(OUTCOMES[n.kind] ? { outcomes: OUTCOMES[n.kind] } : {}),
      facts: [
        { label: "Instructions", text: n.raw.instructions ?? "List the commits since the last tag. Write CHANGELOG.md so that a user learns what changed for them." },
        ...(n.detail ? [{ label: "Agent", text: n.detail }] : []),
        ...(n.checks ? [{ label: "Accepted when", text: '{ "run": ["cargo", "test"], "timeoutSeconds": 900 }', code: true }] : []),
      ],
    }];
  }));
  return { sound: true, drawing, problems, about, edges: Object.fromEntries(drawing.edges.filter((e) => e.number >= 0).map((e) => [e.id, places.edges[e.number]])), own: { values: own }, undecided: false, took: 812 };
}

const set = (object, path, value) => {
  const [first, ...rest] = path.split(".");
  if (rest.length > 0) set((object[first] ??= {}), rest.join("."), value);
  else if (value === null) delete object[first];
  else object[first] = value;
};

/** Does an operation; the text is written anew, in the form in which the mock writes all its texts. */
export function edit(files, operation, refuse, shape) {
  const now = check(files, shape);
  if (!now.sound) refuse("The text cannot be read so far that it could be edited piece by piece.", "Mend the text first.");
  const texts = files.map((file) => JSON.parse(file.text));
  const holder = (id) => texts.find((text) => text.nodes?.[id]) ?? refuse(`There is no step “${id}”.`);
  const all = () => texts.flatMap((text) => Object.keys(text.nodes ?? {}));
  const edgesOf = (id) => (holder(id).edges ??= []);
  const drawnEdge = (id) => now.drawing.edges.find((e) => e.id === id && e.number >= 0) ?? refuse("The edge is not written in this definition.", "Edit what it follows from, or the text.");
  const written = (id) => {
    let { number } = drawnEdge(id);
    for (const text of texts) {
      if (number < (text.edges ?? []).length) return { list: text.edges, number, edge: text.edges[number] };
      number -= (text.edges ?? []).length;
    }
  };
  const free = (wanted) => {
    let name = wanted;
    for (let n = 2; all().includes(name); n += 1) name = `${wanted}-${n}`;
    return name;
  };
  const links = (id, change) => texts.forEach((text) => (text.edges = (text.edges ?? []).flatMap((e) => (e.from === id || e.to === id ? change(e) : [e]))));
  let select = null;
  switch (operation.is) {
    case "set":
      set(operation.node === null ? texts[0] : holder(operation.node).nodes[operation.node], operation.field, operation.value);
      select = operation.node;
      break;
    case "add": {
      const id = free(operation.id ?? operation.kind);
      const near = operation.after ?? (operation.edge ? written(operation.edge).edge.from : null);
      const text = near ? holder(near) : texts[0];
      text.nodes[id] = { type: operation.kind, name: palette.find((k) => k.kind === operation.kind)?.label ?? id, ...operation.values };
      if (operation.after) edgesOf(operation.after).push({ from: operation.after, to: id, ...(operation.on ? { on: operation.on, text: operation.on, kind: "outcome" } : {}) });
      if (operation.edge) {
        const { list, edge } = written(operation.edge);
        list.push({ from: id, to: edge.to });
        edge.to = id;
      }
      select = id;
      break;
    }
    case "connect": {
      if (holder(operation.to).nodes[operation.to].type === "start") refuse("Nothing leads to a start.", "Connect to another step.");
      edgesOf(operation.from).push({ from: operation.from, to: operation.to, ...(operation.on ? { on: operation.on, text: operation.on, kind: "outcome" } : {}) });
      select = operation.from;
      break;
    }
    case "disconnect": {
      const { list, number, edge } = written(operation.edge);
      list.splice(number, 1);
      select = edge.from;
      break;
    }
    case "reconnect": {
      if (holder(operation.to).nodes[operation.to].type === "start") refuse("Nothing leads to a start.", "Connect to another step.");
      const { edge } = written(operation.edge);
      edge.to = operation.to;
      select = edge.from;
      break;
    }
    case "outcome": {
      const { edge } = written(operation.edge);
      if (operation.on === null) for (const name of ["on", "text", "kind"]) delete edge[name];
      else Object.assign(edge, { on: operation.on, text: operation.on, kind: "outcome" });
      select = edge.from;
      break;
    }
    case "rename": {
      const { node, to } = operation;
      if (!/^[a-z][a-z0-9_-]*$/i.test(to)) refuse(`“${to}” cannot be an id.`, "Letters, digits, `-` and `_`.");
      if (all().includes(to)) refuse(`There is a step “${to}” already.`, "Choose another name.");
      const text = holder(node);
      text.nodes = Object.fromEntries(Object.entries(text.nodes).map(([id, value]) => [id === node ? to : id, value]));
      links(node, (e) => [{ ...e, from: e.from === node ? to : e.from, to: e.to === node ? to : e.to }]);
      select = to;
      break;
    }
    case "delete":
      for (const id of operation.nodes) {
        if (holder(id).nodes[id].type === "start") refuse("The start cannot be taken away.", "A definition begins somewhere.");
        delete holder(id).nodes[id];
        links(id, () => []);
      }
      break;
    case "duplicate": {
      const id = free(operation.node);
      const text = holder(operation.node);
      text.nodes[id] = structuredClone(text.nodes[operation.node]);
      select = id;
      break;
    }
    case "kind":
      holder(operation.node).nodes[operation.node].type = operation.kind;
      select = operation.node;
      break;
    default:
      refuse(`“${operation.is}” is no operation.`);
  }
  return { files: files.map(({ name }, i) => ({ name, text: JSON.stringify(texts[i], null, 2) + "\n" })), select };
}

// A server with made-up data that keeps the contract of `/api/v1`: for work on the page without the engine.
// node dev/mock.mjs [port]      prints the address; MOCK_LIVE=ms between two records of the live run (0: none),
// MOCK_DELAY=ms before a text is checked or edited; MOCK_PASSKEYS=0 none is enrolled; MOCK_ENROL=0 none can be, as with a studio;
// MOCK_SECONDS that a passkey has. Passkeys need http://localhost.
import { createReadStream, existsSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { check, edit, fields, palette } from "./edit.mjs";
import { definitions } from "./fixtures.mjs";
import { challenge, confirm, count, enrol } from "./passkeys.mjs";
import { INPUT, makeTry, PROJECT } from "./tries.mjs";
import { makeRun, momentOf, statusOf, stepOf, visitsOf } from "./runs.mjs";

const DIST = join(dirname(fileURLToPath(import.meta.url)), "../../crates/portolan/studio/dist");
const TOKEN = process.env.MOCK_TOKEN ?? "mock";
const DELAY = Number(process.env.MOCK_DELAY ?? 10);
const LIVE = Number(process.env.MOCK_LIVE ?? 1500);
const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };

const find = (id) => definitions.find((d) => d.id === id);
const runs = [
  makeRun("r-live", find("release"), 61, { description: "Release 1.5 of the compiler" }),
  makeRun("r-500", find("release"), 500, { over: true, description: "Release 1.4, with three repairs" }),
  makeRun("r-wait", find("work-package"), 37, { waiting: true, description: "The new importer" }),
  makeRun("r-tools", find("inventory"), 24, { over: true }),
  makeRun("r-large", find("large"), 800),
  makeRun("r-long", find("release"), 100_000, { over: true, description: "A hundred thousand records" }),
];
let questions = [
  { run: "r-wait", workflow: "Work package", step: "design/cp", stepName: "Which design?", wanted: "Store the notes", failures: [], words: "Two designs are written down.\n\nA  keeps the format and costs a week more.\nB  changes the format; users convert once.\n\nThe checks of both hold.", options: [{ outcome: "a", title: "Keep the format", meaning: "a week more" }, { outcome: "b", title: "Change the format", meaning: "users convert once" }, { outcome: "cancelled", title: "Stop here", meaning: null }], person: false, command: "portolan runs answer r-wait", since: "2026-11-24T09:04:00Z", revision: 37, branch: null },
  { run: "r-live", workflow: "Release", step: "approve", stepName: "Approve the release", wanted: "version 2", failures: [], words: "The notes are written and the tests pass. Shall this version be published?", options: [{ outcome: "passed", title: "Publish", meaning: "tags and announces it" }, { outcome: "failed", title: "Not now", meaning: null }], person: true, command: "portolan runs answer r-live --branch linux", since: "2026-11-24T08:59:00Z", revision: 61, branch: "linux" },
];

const streams = new Set();
const log = [];
function emit(r, record) {
  const data = { run: r.run, ...record, status: statusOf(r), step: stepOf(r), workflow: r.d.name };
  log.push(data);
  for (const stream of streams) stream.write(`event: record\nid: ${log.length}\ndata: ${JSON.stringify(data)}\n\n`);
}
if (LIVE > 0) setInterval(() => runs[0].grow(1).forEach((record) => emit(runs[0], record)), LIVE).unref();

class Refusal extends Error {
  constructor(status, code, message, help = null) {
    super(message);
    Object.assign(this, { status, code, help });
  }
}
const need = (value, what) => {
  if (value === undefined) throw new Refusal(404, "unknown", `There is no ${what} of this name.`);
  return value;
};
const entry = (r) => ({ run: r.run, status: statusOf(r), workflow: r.d.name, step: stepOf(r), updatedAt: new Date(r.steps.at(-1).at).toISOString(), description: r.description });
const problems = (d) => d.problems ?? [];
const checked = (d, { files = d.files, ...shape } = {}) => check(files, shape, problems(d));
const refuse = (message, help = null) => {
  throw new Refusal(422, "not_editable", message, help);
};
const refusal = (code, message, help = "start again with a new challenge", status = 422) => {
  throw new Refusal(status, code, message, help);
};
const stale = () => new Refusal(409, "stale", "the run is at another revision by now", "look again");
/** Somebody else writes the file, or the page does. */
function writeFiles(d, files) {
  d.files = d.files.map((file) => ({ ...file, text: files.find((other) => other.name === file.name)?.text ?? file.text }));
  d.revision += 1;
  for (const stream of streams) stream.write("event: definitions\ndata: {}\n\n");
}
const whole = (r) => ({ run: r.run, workflow: r.d.name, definition: { id: r.d.id, name: r.d.name, led: r.d.led }, driven: r.driven ?? null, head: r.steps.length, over: r.over, status: statusOf(r), situation: {}, words: momentOf(r, r.steps.length).words, origin: r.origin });

function answer(method, path, query, body) {
  const parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  const [kind, id, what, more] = parts;
  if (kind === "project" && id === "trust" && what === "revoke") {
    const { trusted } = PROJECT.trust;
    PROJECT.trust.trusted = trusted.filter((entry) => entry.key !== body.key);
    return { revoked: PROJECT.trust.trusted.length < trusted.length };
  }
  if (kind === "project" && id) return need(PROJECT[id], "part of the project");
  if (kind === "project") return { name: "compiler", path: "/home/ada/compiler", version: "0.9.0-mock", readOnly: false, observes: false, onlyShows: null, inbox: questions.length, passkeys: count() };
  if (kind === "inbox") return { questions: questions.map((q) => ({ ...q, passkey: q.person && count() > 0 })), calls: [], unread: null };
  if (kind === "halts") return { halts: {} };
  if (kind === "definitions") {
    if (!id) {
      return { definitions: definitions.map((d, i) => ({ id: d.id, name: d.name, description: d.description, dialect: d.dialect, source: i === 2 ? "catalog" : "project", file: i === 2 ? null : `workflows/${i}.json`, steps: d.nodes.length, errors: problems(d).filter((p) => p.severity === "error").length, warnings: problems(d).filter((p) => p.severity === "warning").length, led: d.led, roots: [d.id, d.name], openRuns: runs.filter((r) => r.d === d && !r.over).length })) };
    }
    const d = need(find(id), "definition");
    if (what === "check") return checked(d, body);
    if (what === "try") {
      if (d.led) {
        const made = makeRun(`r-try-${runs.length}`, d, 1, { description: body.description ?? null });
        runs.push(made);
        return { run: made.run };
      }
      if (body.input?.depth === 7) throw new Refusal(422, "bad_input", "the input is not valid for `inventory`: `/depth` must be less than 7 here", "it says what it takes in its `inputSchema`");
      if (!body.answers && !body.recorded) throw new Refusal(422, "not_trusted", "`inventory.yaml` starts or contacts servers that are not trusted yet", "read it, then run `portolan trust inventory.yaml`; the person at this machine decides this");
      const made = makeTry(`r-try-${runs.length}`, d, body, emit, refuse);
      runs.push(made);
      return { run: made.run };
    }
    if (what === "evaluate") {
      const names = ["version", "platforms", "attempts", "$item", ...d.nodes.map((n) => n.id)];
      const wrong = body.text.indexOf("?");
      if (wrong >= 0) return { names, error: { message: "an operator is expected here", help: null, from: wrong, to: wrong + 1 } };
      const known = { ...(body.with.variables ?? { version: "1.5.0", attempts: 2 }) };
      const name = body.text.replace("$.", "").trim();
      return name in known ? { names, value: known[name], type: typeof known[name] } : { names, type: "undefined" };
    }
    if (what === "edit") {
      const { do: operation, files, root, ...shape } = body;
      const done = edit(files, operation, refuse, shape);
      return { ...done, ...checked(d, { ...shape, files: done.files }) };
    }
    if (what === "source" && method === "PUT") {
      const current = { revision: `${d.revision}`, files: d.files };
      if (body.revision !== current.revision) throw Object.assign(new Refusal(409, "changed", "Somebody else has written it meanwhile: nothing was written.", "Compare both, and save again."), { more: { current } });
      writeFiles(d, body.files);
      return { revision: `${d.revision}`, ...checked(d) };
    }
    // Only the mock has this: a change on disk by somebody else.
    if (what === "disk") return (writeFiles(d, body.files ?? [{ name: d.files[0].name, text: d.files[0].text.replace(body.from, body.to) }]), { files: d.files });
    return { id: d.id, name: d.name, description: d.description, dialect: d.dialect, source: "project", writable: d.id !== "inventory", editable: d.dialect === "navigator" || d.dialect === "activity", palette, fields, revision: `${d.revision}`, files: d.files, roots: d.id === "inventory" ? [{ id: "inventory", name: "inventory", input: INPUT, asks: ["list", "size_of.stat"] }, { id: "count", name: "count", input: null, asks: [] }] : [{ id: d.id, name: d.name, input: null, asks: [] }], ...checked(d) };
  }
  if (kind === "passkeys") return enrol(id, body, refusal);
  if (kind !== "runs") throw new Refusal(404, "unknown", "There is no such path.");
  if (!id) return { runs: runs.map(entry), more: false };
  const r = need(runs.find((run) => run.run === id), "run");
  if (!what) return whole(r);
  if (what === "drawing") {
    const { drawing, about } = checked(r.d, body);
    return { drawing, about };
  }
  if (what === "control") return r.control ? r.control(body) : refuse(`\`${r.run}\` is not driven by this studio`, "a run of a function goes on with `portolan runs resume`");
  if (what === "test") return { file: ".flow/workflows/inventory.test.yaml", text: `graph: inventory.yaml\ntests:\n  - name: ${body.name}\n    input: ${JSON.stringify(r.input ?? {})}\n    mock:\n      list: { content: "[FILE] a.txt" }\n    expect: { files: 1 }\n`, created: false };
  if (what === "records" && more === "1") return { seq: 1, event: { ...r.steps[0], what: { opened: { workflow: r.d.id, input: r.input ?? {}, description: r.description ?? undefined } } }, changes: [] };
  if (what === "records" && more) {
    const { failed, act, ...event } = need(r.steps[more - 1], "record");
    return { seq: event.seq, event, changes: [{ set: "attempts", to: 2 }, { token: "•••" }] };
  }
  if (what === "records") {
    const after = Number(query.get("after") ?? 0);
    return { records: r.steps.slice(after, after + Number(query.get("limit") ?? 1000)).map(({ failed, act, nodes, ...record }) => record), head: r.steps.length };
  }
  if (what === "at") {
    const moment = momentOf(r, Math.min(Number(more), r.steps.length));
    Object.assign(moment.values[0].value, r.changed);
    return moment;
  }
  if (what === "nodes") return visitsOf(r, more, Number(query.get("at") ?? r.steps.length));
  if (what === "fork" && method === "POST") {
    const made = makeRun(`r-fork-${runs.length}`, r.d, body.seq, { origin: { run: r.run, seq: body.seq } });
    runs.push(made);
    emit(made, made.steps.at(-1));
    return { run: made.run };
  }
  if (what === "challenge") {
    if (questions.find((q) => q.run === r.run)?.revision !== body.revision) throw stale();
    return challenge(r.run, body, refusal);
  }
  if (what === "answer" && method === "POST") {
    const question = questions.find((q) => q.run === r.run);
    if (!question || question.revision !== body.revision) throw stale();
    if (body.passkey) confirm(r.run, body, refusal);
    else if (question.person) throw new Refusal(403, "needs_person", "Only a person's answer counts here.", `Run \`portolan runs answer ${r.run} ${body.outcome}\` in a terminal.`);
    questions = questions.filter((q) => q !== question);
    r.waiting = false;
    r.grow(1).forEach((record) => emit(r, record));
    return whole(r);
  }
  throw new Refusal(404, "unknown", "There is no such path.");
}

const server = createServer(async (request, response) => {
  const url = new URL(request.url, "http://localhost");
  const json = (status, value) => response.writeHead(status, { "Content-Type": "application/json", "Cache-Control": "no-store" }).end(JSON.stringify(value));
  if (!url.pathname.startsWith("/api/")) {
    const file = join(DIST, normalize(url.pathname === "/" ? "/index.html" : url.pathname));
    if (!file.startsWith(DIST) || !existsSync(file)) return response.writeHead(404).end();
    response.writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream", "Content-Security-Policy": CSP, "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff" });
    return createReadStream(file).pipe(response);
  }
  if (request.headers.authorization !== `Bearer ${TOKEN}`) return json(401, { error: { code: "unauthorized", message: "The request carries no valid token.", help: null } });
  if (url.pathname === "/api/v1/events") {
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
    response.write(`event: here\ndata: {"version":"0.9.0-mock"}\n\n`);
    const after = Number(request.headers["last-event-id"] ?? log.length);
    log.slice(after).forEach((data, i) => response.write(`event: record\nid: ${after + i + 1}\ndata: ${JSON.stringify(data)}\n\n`));
    streams.add(response);
    const beat = setInterval(() => response.write(":\n\n"), 15_000);
    return request.on("close", () => (streams.delete(response), clearInterval(beat)));
  }
  let text = "";
  for await (const chunk of request) text += chunk;
  try {
    const path = url.pathname.replace("/api/v1", "");
    if (DELAY > 0 && /\/(check|edit)$/.test(path)) await new Promise((resolve) => setTimeout(resolve, DELAY));
    json(200, answer(request.method, path, url.searchParams, text ? JSON.parse(text) : {}));
  } catch (error) {
    json(error.status ?? 500, { error: { code: error.code ?? "mock", message: error.message, help: error.help ?? null }, ...error.more });
  }
});

const port = Number(process.argv[2] ?? 4178);
server.listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${port}/#token=${TOKEN}`));

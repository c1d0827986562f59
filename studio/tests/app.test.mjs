// The page of a run that clients show in their conversations (MCP Apps), in a client that is not ours: the bridge of ext-apps in
// the browser, and the official client of the TypeScript SDK over the pipes of the real server.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { build } from "vite";
import { barriersIn, launch } from "./browser.mjs";
import { Project } from "./project.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const binary = resolve(process.env.PORTOLAN ?? join(here, "../../target/debug/portolan"));
const URI = "ui://portolan/run";
const HOST = "http://client.test/";
const SANDBOX = "http://sandbox.test/run";
const EVIL = `Say "<img src=x onerror=alert(1)>"`;
const SHIP = {
  name: "Ship <b>it</b>",
  nodes: {
    start: { type: "start" },
    build: { type: "task", name: EVIL },
    ask: { type: "end", name: "Release it?", result: "blocked", escalation: "hitl", description: "Shall <i>it</i> go out?" },
    tag: { type: "task", name: "Tag the release" },
    done: { type: "end", result: "success" },
  },
  edges: [
    { from: "start", to: "build" },
    { from: "build", to: "ask" },
    { from: "ask", to: "tag", on: "passed" },
    { from: "tag", to: "done" },
  ],
};

let browser, project, script;
/** The clients of the present test, each with a server of its own. */
const clients = [];

before(async () => {
  project = new Project(binary);
  project.write(".flow/workflows/ship.json", JSON.stringify(SHIP, null, 2));
  project.commit();
  [browser, script] = await Promise.all([launch(), bridge()]);
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});
after(async () => {
  await browser?.close();
  project?.remove();
});

/** The client's part in the browser: ext-apps' own bridge to the page in a frame. What it is asked for is done by `serve`. */
async function bridge() {
  const entry = join(here, "app-host.mjs");
  const { output } = (await build({ configFile: false, logLevel: "error", build: { write: false, minify: false, lib: { entry, formats: ["iife"], name: "host" } } }))[0];
  return output[0].code;
}

/** A client of the server. `decide` is what its user does in a dialog, if it has dialogs; `mode` is how it agrees on a revision. */
async function connected(words, decide, mode = "auto") {
  const capabilities = { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } }, ...(decide ? { elicitation: {} } : {}) };
  const client = new Client({ name: "conversation", version: "1" }, { capabilities, versionNegotiation: { mode } });
  if (decide) client.setRequestHandler("elicitation/create", async ({ params }) => decide(params));
  await client.connect(new StdioClientTransport({ command: binary, args: ["serve", ...words], cwd: project.path, env: project.env, stderr: "ignore" }));
  clients.push(client);
  return client;
}

/** A page with the view of a call's result. `said` is the first message that the view sends as its person's. */
async function viewed(client, tool, args) {
  const result = await client.callTool({ name: tool, arguments: args });
  const { contents } = await client.readResource({ uri: URI });
  const page = await browser.newPage();
  const outside = [], faults = [];
  let told;
  const said = new Promise((resolve) => (told = resolve));
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  page.on("dialog", (dialog) => (faults.push(dialog.message()), dialog.dismiss()));
  // What the specification has clients enforce for a page that names no domains.
  const policy = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'";
  await page.route("**/*", (route) => {
    const url = route.request().url();
    if (url === HOST) return route.fulfill({ contentType: "text/html", body: "<!doctype html><title>Client</title><body></body>" });
    if (url === SANDBOX) return route.fulfill({ contentType: "text/html", headers: { "content-security-policy": policy }, body: contents[0].text });
    outside.push(url);
    return route.abort();
  });
  await page.exposeFunction("serve", async (method, params) => {
    if (method === "message") return void told(params.content[0].text);
    return client.callTool(params);
  });
  await page.goto(HOST);
  await page.addScriptTag({ content: script });
  await page.evaluate(([url, args, result]) => window.show(url, args, result), [SANDBOX, args, result]);
  const frame = page.frames().find((frame) => frame.url() === SANDBOX);
  const close = async () => {
    await page.close();
    assert.deepEqual(outside, [], "the page asks nobody else");
    assert.deepEqual(faults, []);
  };
  return { frame, said, close };
}

/** Leads a run to its question. */
async function waiting(client) {
  const run = (await client.callTool({ name: "Init", arguments: { workflowType: "ship", description: "release 1.2" } })).structuredContent.run;
  await client.callTool({ name: "Start", arguments: { run } });
  await report(client, run);
  return run;
}

async function report(client, run) {
  const { position } = (await client.callTool({ name: "Current", arguments: { run } })).structuredContent;
  return client.callTool({ name: "Next", arguments: { run, revision: position.revision, result: "passed" } });
}

/** A picture of what the client shows, if PICTURES names a folder. */
async function picture(frame, name) {
  if (process.env.PICTURES) await frame.page().screenshot({ path: join(process.env.PICTURES, `${name}.png`), fullPage: true });
}

const text = (frame) => frame.locator("#run").innerText();

test("a run is shown live, every text as it is written, and an answer moves it", async () => {
  const client = await connected([]);
  const run = (await client.callTool({ name: "Init", arguments: { workflowType: "ship", description: "release <b>1.2</b>" } })).structuredContent.run;
  const { frame, said, close } = await viewed(client, "Start", { run });
  await frame.locator(".state.working").waitFor();
  for (const written of ["Ship <b>it</b>", EVIL, run, "release <b>1.2</b>"]) assert.ok((await text(frame)).includes(written), written);
  assert.equal(await frame.locator("#run b, #run img, #run i").filter({ hasText: /it|1\.2/ }).count(), 0);
  assert.equal(await frame.locator("rect.node.here").count(), 1);
  await picture(frame, "app-working");
  // The agent works on elsewhere: the page notices by itself.
  await report(client, run);
  await frame.locator(".state.waiting").waitFor();
  assert.ok((await text(frame)).includes("Shall <i>it</i> go out?"));
  assert.equal(await frame.locator("rect.node.waiting").count(), 1);
  await picture(frame, "app-waiting");
  assert.deepEqual(await barriersIn(frame), []);
  await frame.locator("#note").fill("ship it");
  await frame.getByRole("button", { name: /^passed/ }).click();
  await frame.getByText("Tag the release").first().waitFor();
  await frame.locator(".state.working").waitFor();
  const message = await said;
  assert.ok(message.includes(run) && message.includes("Call Current"), message);
  const events = project.says("runs", "events", run);
  assert.match(events, /ship it/);
  await report(client, run);
  await frame.locator(".state.ended").waitFor();
  await close();
});

for (const mode of ["legacy", "auto"]) {
  test(`where only a person may answer, the client's dialog confirms what was pressed (${mode})`, async () => {
    const asked = [];
    let decision = { action: "decline" };
    const client = await connected(["--human", "verified"], (form) => (asked.push(form), decision), mode);
    assert.equal(client.getProtocolEra(), mode === "auto" ? "modern" : "legacy");
    const run = await waiting(client);
    const { frame, close } = await viewed(client, "Current", { run });
    await frame.getByRole("button", { name: /^passed/ }).click();
    await frame.locator("#told.bad", { hasText: "has not answered" }).waitFor();
    assert.match(asked[0].message, /`passed` was chosen/);
    decision = { action: "accept", content: { answer: "passed" } };
    await frame.getByRole("button", { name: /^passed/ }).click();
    await frame.locator(".state.working").waitFor();
    assert.match(project.says("runs", "events", run, "--format", "json"), /"elicitation"/);
    await close();
  });
}

test("where nobody can ask the person, the page has no button but the command", async () => {
  const client = await connected(["--human", "verified"]);
  const run = await waiting(client);
  const { frame, close } = await viewed(client, "Current", { run });
  await frame.getByText(`portolan runs answer ${run}`).waitFor();
  assert.equal(await frame.getByRole("button").count(), 0);
  await close();
});

test("a run that an agent is led through is shown without the steps to come", async () => {
  const client = await connected(["--toolset", "navigate"]);
  const { frame, close } = await viewed(client, "start_workflow", { workflow_id: "ship" });
  await frame.locator("rect.node.here").waitFor();
  assert.ok(!(await frame.locator("body").innerText()).includes("Tag the release"));
  await close();
});

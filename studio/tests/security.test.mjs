// Who else is there: pages of other sites in the same browser, names that lead to this machine, other users of it.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { browser, prepare, project, studio } from "./suite.mjs";

const NAME = "harbour.example";

prepare((project) => project.example("examples/navigator/release/release.json", "release.json"), `--host-resolver-rules=MAP ${NAME} 127.0.0.1`);

let run;
let stranger;

before(async () => {
  const agent = await project.agent().begin();
  run = await agent.open("bug-fix", "the login fails");
  agent.end();
  stranger = createServer((_, response) => response.setHeader("content-type", "text/html").end("<!doctype html><title>stranger</title>"));
  await new Promise((done) => stranger.listen(0, "127.0.0.1", done));
});

after(() => stranger?.close());

/** What a page gets, by name: `nothing` where it is told nothing at all. */
const attempts = ({ base, run }) => {
  const api = `${base}api/v1`;
  const told = async (asked) => {
    try {
      const response = await asked;
      return response.type === "opaque" ? "nothing" : `${response.status}: ${await response.text()}`;
    } catch {
      return "nothing";
    }
  };
  const element = (name, attributes) =>
    new Promise((done) => {
      const made = Object.assign(document.createElement(name), attributes);
      made.onload = () => done(made);
      made.onerror = () => done(null);
      document.head.append(made);
    });
  const answer = JSON.stringify({ outcome: "passed", revision: 1 });
  return Promise.all(
    Object.entries({
      "reads runs": () => told(fetch(`${api}/runs`)),
      "reads with a guessed token": () => told(fetch(`${api}/runs`, { headers: { authorization: "Bearer 0" } })),
      "reads without asking": () => told(fetch(`${api}/runs`, { mode: "no-cors", credentials: "include" })),
      "answers by a form": () => told(fetch(`${api}/runs/${run}/answer`, { method: "POST", mode: "no-cors", headers: { "content-type": "text/plain" }, body: answer })),
      "answers in JSON": () => told(fetch(`${api}/runs/${run}/answer`, { method: "POST", headers: { "content-type": "application/json" }, body: answer })),
      "reads the page": () => told(fetch(base)),
      "listens to events": () => new Promise((done) => {
        const events = new EventSource(`${api}/events`);
        events.onopen = () => done("open");
        events.onerror = () => (events.close(), done("nothing"));
      }),
      "opens a socket": () => new Promise((done) => {
        const socket = new WebSocket(`${api.replace("http", "ws")}/events`);
        socket.onopen = () => done("open");
        socket.onerror = () => done("nothing");
      }),
      "runs its script": async () => ((await element("script", { src: `${base}studio.js`, type: "module" })) ? "ran" : "nothing"),
      "puts it into a frame": async () => {
        const frame = await element("iframe", { src: base });
        try {
          return frame?.contentDocument?.body?.textContent ? "seen" : "nothing";
        } catch {
          return "nothing";
        }
      },
    }).map(async ([name, attempt]) => [name, await attempt()]),
  ).then(Object.fromEntries);
};

const before_and_after = async (attack) => {
  const stood = await studio.ask(`/runs/${run}`);
  await attack();
  const stands = await studio.ask(`/runs/${run}`);
  assert.equal(stands.head, stood.head, "nothing has happened to the run");
};

for (const host of ["127.0.0.1", "localhost"]) {
  test(`a page of ${host} on another port is told nothing, and changes nothing`, () =>
    before_and_after(async () => {
      const context = await browser.newContext();
      const page = await context.newPage();
      // The person has the studio open in the same browser.
      const open = await context.newPage();
      await open.goto(studio.at("/"));
      await open.waitForSelector(".entry");
      await page.goto(`http://${host}:${stranger.address().port}/`);
      const got = await page.evaluate(attempts, { base: studio.base, run });
      assert.deepEqual([...new Set(Object.values(got))], ["nothing"], JSON.stringify(got));
      await page.setContent(`<form method="post" enctype="text/plain" action="${studio.base}api/v1/runs/${run}/answer"><input name='{"outcome":"passed","x":"' value='"}'></form>`);
      const [response] = await Promise.all([page.waitForNavigation(), page.evaluate(() => document.forms[0].submit())]);
      assert.ok(response.status() >= 400, `${response.status()}`);
      await context.close();
    }));
}

test("a name that leads to this machine is not answered", () =>
  before_and_after(async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    const response = await page.goto(`http://${NAME}:${studio.port}/`);
    assert.equal(response.status(), 421);
    // Its own server answered under this name before the name led here.
    await page.route(`http://${NAME}:${studio.port}/stranger`, (route) => route.fulfill({ contentType: "text/html", body: "<!doctype html><title>stranger</title>" }));
    await page.goto(`http://${NAME}:${studio.port}/stranger`);
    const got = await page.evaluate(attempts, { base: `http://${NAME}:${studio.port}/`, run });
    for (const [name, told] of Object.entries(got)) assert.match(told, /^(nothing|421: )/, name);
    await context.close();
  }));

test("another user of the machine gets neither the token nor an answer", { skip: process.getuid() !== 0 && "only root can be another user" }, () =>
  before_and_after(() => {
    const script = `
      const { readFileSync } = require("node:fs");
      const read = (file) => { try { return readFileSync(file, "latin1"); } catch (error) { return error.code; } };
      Promise.all(["runs", "project", "nothing"].map(async (path) => (await fetch(${JSON.stringify(studio.base)} + "api/v1/" + path)).status)).then((statuses) =>
        console.log(JSON.stringify({ statuses, file: read(${JSON.stringify(join(project.path, ".portolan/studio.json"))}), words: read("/proc/${studio.child.pid}/cmdline"), variables: read("/proc/${studio.child.pid}/environ") })));`;
    const said = spawnSync(process.execPath, ["-e", script], { uid: 65534, gid: 65534, cwd: "/", encoding: "utf8" });
    const { statuses, file, words, variables } = JSON.parse(said.stdout || said.stderr);
    assert.deepEqual(statuses, [401, 401, 401]);
    assert.equal(file, "EACCES");
    assert.equal(variables, "EACCES");
    assert.ok(!words.includes(studio.token));
  }));

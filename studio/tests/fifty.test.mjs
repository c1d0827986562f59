// Fifty edits of each format, by keyboard, on steps that chance chooses: what the screen then shows is what the file says.
import assert from "node:assert/strict";
import { test } from "node:test";
import { open } from "./browser.mjs";
import { browser, prepare, project, studio } from "./suite.mjs";

const EDITS = 50;
const DEFINITIONS = ["release", "follow-up", "inventory", "research", "delivery"];

prepare((project) => {
  project.example("examples/navigator/release/release.json", "release.json");
  project.example("examples/activities/follow-up.yaml", "follow-up.yaml");
  project.example("examples/tool-graphs/inventory.yaml", "inventory.yaml");
  project.example("examples/agent-states/research", "research");
  project.example("crates/portolan-runtime/catalog/phases/delivery.yaml", "delivery.yaml");
});

/** Numbers that are the same in each run of the test: mulberry32. */
function numbers(seed) {
  return (below) => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

/** Resolves when the page waits for nothing: no request is under way, and none has followed. */
function settling(page) {
  let open = 0;
  let last = Date.now();
  const asks = (request) => /\/(check|edit)$/.test(request.url());
  page.on("request", (request) => asks(request) && (open++, (last = Date.now())));
  for (const end of ["requestfinished", "requestfailed"]) page.on(end, (request) => asks(request) && (open--, (last = Date.now())));
  return async () => {
    last = Date.now();
    while (open > 0 || Date.now() - last < 45) await new Promise((resolve) => setTimeout(resolve, 8));
  };
}

/** Closes what a refusal has left open. */
async function closed(page, settled) {
  await settled();
  for (let i = 0; i < 3 && (await page.locator("dialog[open]").count()) > 0; i++) {
    await page.keyboard.press("Escape");
    await settled();
  }
}

async function edit(page, pick, nth, settled) {
  const { keyboard } = page;
  await page.locator("[data-graph]").focus();
  for (let steps = pick(3); steps >= 0; steps--) await keyboard.press(["ArrowDown", "ArrowDown", "ArrowUp", "ArrowRight"][pick(4)]);
  const dialog = page.locator("dialog[open]");
  const kind = pick(9);
  if (kind === 0) {
    await keyboard.press("F2");
    if (await dialog.count()) {
      await dialog.getByLabel(/^Id/).fill(`n${nth}`);
      await keyboard.press("Enter");
    }
  } else if (kind < 3) {
    await keyboard.press("a");
    await dialog.waitFor();
    const kinds = dialog.getByLabel("Kind");
    await kinds.selectOption({ index: pick(await kinds.locator("option").count()) });
    await dialog.getByLabel(/^Id/).fill(`added${nth}`);
    await keyboard.press("Enter");
  } else if (kind === 3) {
    await keyboard.press("Control+d");
  } else if (kind === 4) {
    await keyboard.press("Delete");
    if (await dialog.count()) await keyboard.press("Enter");
  } else if (kind === 5) {
    await keyboard.press("c");
    for (let questions = 0; questions < 2 && (await dialog.count()) > 0; questions++) {
      for (let steps = pick(5); steps > 0; steps--) await keyboard.press("ArrowDown");
      await keyboard.press("Enter");
      await settled();
    }
  } else if (kind === 6) {
    await keyboard.press("e");
    await keyboard.press(pick(3) === 0 ? "Delete" : "Control+z");
  } else if (kind === 7) {
    await keyboard.press("w");
  } else {
    const field = page.locator("aside[aria-label=Details] [data-form] textarea").first();
    if (await field.count()) {
      await field.fill(`Words: "${nth}", and # more.\nA second line.`);
      await keyboard.press("Tab");
    }
  }
  await closed(page, settled);
}

/** The steps and edges that are drawn, with their names and labels. */
const shown = (page) =>
  page.evaluate(() => ({
    nodes: [...document.querySelectorAll(".react-flow__node")].map((node) => `${node.dataset.id} ${node.querySelector(".name, .bar-name")?.textContent}`).sort(),
    edges: [...document.querySelectorAll("[data-edge]")].map((edge) => `${edge.dataset.edge} ${edge.querySelector("text")?.textContent ?? ""}`).sort(),
  }));

/** What stands in comments: none goes unless what it stands beside does, so some are always there. */
const comments = (text) => text.split("\n").filter((line) => /^\s*#/.test(line));

/** All of the graph is on the screen: what is beside it is not drawn. */
async function seen(page) {
  await page.setViewportSize({ width: 3000, height: 8000 });
  await page.locator("[data-graph]").focus();
  await page.keyboard.press("0");
}

const source = (page) => page.locator(".code-host").evaluate((host) => host.shadowRoot.textContent);

async function fiftyEdits(page, id, pick) {
  const settled = settling(page);
  await page.goto(studio.at(`/definition/${id}`));
  await page.waitForSelector(".react-flow__node");
  const file = (await studio.ask(`/definitions/${id}`)).files[0].name;
  const before = project.read(file);
  let done = 0;
  for (let nth = 0; nth < EDITS; nth++) {
    const words = await source(page);
    await edit(page, pick, nth, settled);
    done += Number(words !== (await source(page)));
  }
  await page.locator("[data-graph]").focus();
  await page.keyboard.press("Control+s");
  await page.waitForSelector("dialog[open] .diff-lines");
  await page.locator("dialog .actions .primary").click();
  await page.waitForSelector("dialog", { state: "detached" });
  await page.locator(".work-actions .primary:text-is('Saved')").waitFor();
  // Read anew, the file says what the screen shows; a text that cannot be read would be drawn by neither.
  const stored = await studio.ask(`/definitions/${id}`);
  assert.equal(stored.sound, true, id);
  const { nodes, edges } = stored.drawing;
  const there = ([nodes, edges]) => document.querySelectorAll(".react-flow__node").length === nodes && document.querySelectorAll("[data-edge]").length === edges;
  await seen(page);
  await page.waitForFunction(there, [nodes.length, edges.length]);
  const screen = await shown(page);
  assert.deepEqual(screen.nodes.map((node) => node.split(" ")[0]), nodes.map((node) => node.id).sort(), id);
  await page.reload();
  await page.goto(studio.at(`/definition/${id}`));
  await page.waitForSelector(".react-flow__node");
  await seen(page);
  await page.waitForFunction(there, [nodes.length, edges.length]);
  assert.deepEqual(await shown(page), screen, id);
  const was = comments(before);
  assert.ok(comments(project.read(file)).every((line) => was.includes(line)), `${id}: a comment is torn`);
  assert.ok(done > 12, `${id}: ${done} edits have changed something`);
  return `${id}: ${done} of ${EDITS} edits have changed the text`;
}

test("fifty edits of each format", async (t) => {
  // Beside each other: most of the time each waits for its page.
  const told = DEFINITIONS.map(async (id, seed) => {
    const { context, page, said } = await open(browser);
    try {
      const told = await fiftyEdits(page, id, numbers(seed + 1));
      assert.deepEqual(said, [], id);
      return told;
    } finally {
      await context.close();
    }
  });
  for (const line of await Promise.all(told)) t.diagnostic(line);
});

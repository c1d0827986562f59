// What is done to a graph by dragging, by the keys of the graph and in the forms: what it leads to, and what is refused.
import assert from "node:assert/strict";
import { Hands } from "./hands.mjs";
import { inPage, prepare, project, studio } from "./suite.mjs";

const FILE = ".flow/workflows/release.json";

prepare((project) => {
  project.example("examples/navigator/release/release.json", "release.json");
  project.example("examples/tool-graphs/inventory.yaml", "inventory.yaml");
});

const details = (page) => page.locator("aside[aria-label=Details]");
const source = (page, text) => page.waitForFunction((text) => document.querySelector(".code-host")?.shadowRoot?.textContent.includes(text), text);
const edge = (page, id) => page.locator(`[data-edge="${id}"]`);
const isSaved = (page) => page.locator(".work-actions .primary:text-is('Saved')").waitFor();

const handle = (page, node) => page.locator(`.react-flow__node[data-id="${node}"] .handle`).boundingBox();

/** Presses the mouse at one place, and lets it go on a step. */
async function drag(page, { x, y, width, height }, to) {
  const target = await page.locator(`.react-flow__node[data-id="${to}"]`).boundingBox();
  await page.mouse.move(x + width / 2, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(target.x + 20, target.y + 14, { steps: 4 });
  await page.locator(`.react-flow__node[data-id="${to}"] .node.target`).waitFor();
  await page.mouse.up();
}

inPage("an edge is drawn and led elsewhere with the mouse", async (page) => {
  const hands = new Hands(page);
  await hands.at("release", "start");
  await drag(page, await handle(page, "start"), "test");
  await edge(page, "start->test").waitFor({ state: "attached" });
  // A click selects it, and its end is led to another step.
  await hands.edge("start->test");
  await details(page).getByRole("heading", { name: "Edge" }).waitFor();
  await drag(page, await page.locator(".grip").boundingBox(), "tag");
  await edge(page, "start->tag").waitFor({ state: "attached" });
  assert.equal(await edge(page, "start->test").count(), 0);
  // Let go beside every step, nothing is drawn.
  const { x, y } = await handle(page, "start");
  await page.mouse.move(x + 4, y + 4);
  await page.mouse.down();
  await page.mouse.move(x + 300, y, { steps: 3 });
  await page.locator(".edges.dragged").waitFor({ state: "attached" });
  await page.mouse.up();
  await page.locator(".edges.dragged").waitFor({ state: "detached" });
  await hands.key("Control+z");
  await hands.key("Control+z");
  await isSaved(page);
  await edge(page, "start->tag").waitFor({ state: "detached" });
});

inPage("an edge that cannot be is told above the graph, and nothing has changed", async (page) => {
  const hands = new Hands(page);
  await hands.at("inventory", "result");
  await drag(page, await handle(page, "entry"), "result");
  const refused = page.locator(".over-graph[role=alert]", { hasText: "entry already leads to list there" });
  await refused.waitFor();
  await isSaved(page);
  await refused.getByRole("button", { name: "Close" }).click();
  await refused.waitFor({ state: "detached" });
});

inPage("by keyboard alone a step is named, added, connected, changed in kind, and deleted, and all of it is undone", async (page) => {
  const hands = new Hands(page);
  const before = project.read(FILE);
  const chooser = async (words) => {
    await page.waitForSelector("dialog[open] [role=combobox]");
    await page.keyboard.type(words);
    await page.keyboard.press("Enter");
  };
  const leadsTo = (name) => details(page).locator(".facts-head", { hasText: "Edge" }).getByRole("button", { name, exact: true }).waitFor();
  await hands.at("release", "approve");
  // An id that is taken is refused in the dialog, which stays.
  await hands.key("F2");
  await page.locator("dialog").getByLabel(/^Id/).fill("tag");
  await page.keyboard.press("Enter");
  await page.locator("dialog .inline-failure", { hasText: "tag" }).waitFor();
  await page.locator("dialog").getByLabel(/^Id/).fill("consent");
  await page.keyboard.press("Enter");
  await hands.selected("consent");
  await hands.closed();
  await page.waitForFunction(() => document.activeElement?.matches("[data-graph]"));
  await page.evaluate(() => (location.hash = "#/definition/release?node=tag"));
  await hands.selected("tag");
  await hands.key("a");
  await page.waitForSelector("dialog[open]");
  await page.keyboard.type("Announce it");
  await page.keyboard.press("Enter");
  await hands.selected("announce_it");
  await hands.closed();
  await hands.key("c");
  await chooser("dropped");
  await chooser("failed");
  await hands.closed();
  await edge(page, "announce_it->dropped").waitFor({ state: "attached" });
  await hands.key("k");
  await chooser("gate");
  await hands.closed();
  await details(page).locator(".facts-head", { hasText: "gate" }).waitFor();
  // From one edge of the step to the next, where it leads and on what.
  await hands.key("e");
  await leadsTo("Released");
  await page.keyboard.press("e");
  await leadsTo("Not released");
  await details(page).getByLabel("Outcome", { exact: true }).selectOption("passed");
  await source(page, '"from": "announce_it", "to": "dropped", "on": "passed"');
  await hands.key("c");
  await chooser("repair");
  await hands.closed();
  await edge(page, "announce_it->repair").waitFor({ state: "attached" });
  await hands.key("e");
  await page.keyboard.press("e");
  await leadsTo("Repair");
  await hands.key("Delete");
  await edge(page, "announce_it->repair").waitFor({ state: "detached" });
  await hands.remove();
  await page.locator(".node", { hasText: "Announce it" }).waitFor({ state: "detached" });
  // One step after another, from wherever one is.
  const undo = page.getByRole("button", { name: "Undo" });
  let steps = 0;
  for (; (await undo.isEnabled()) && steps < 30; steps += 1) await page.keyboard.press("Control+z");
  assert.ok(steps >= 8, `${steps} steps`);
  await isSaved(page);
  await source(page, '"name": "Approve the release"');
  await page.keyboard.press("Control+Shift+z");
  await page.getByRole("button", { name: "Save…" }).waitFor();
  await page.keyboard.press("Control+z");
  await isSaved(page);
  assert.equal(project.read(FILE), before);
});

inPage("what a field cannot be is told at the field, and only what can be read is sent", async (page) => {
  const hands = new Hands(page);
  const asked = [];
  page.on("request", (request) => request.url().endsWith("/edits") && asked.push(request.postDataJSON().do));
  await hands.at("release", "test");
  const field = (label) => page.locator("[data-form]").getByLabel(label, { exact: true });
  const problem = (label) => page.locator(".edit-field", { has: page.getByLabel(label, { exact: true }) }).locator(".field-problem.bad");
  await field("Checks").fill("{ not JSON");
  await page.keyboard.press("Control+Enter");
  await problem("Checks").filter({ hasText: "This is not JSON yet" }).waitFor();
  assert.equal(await field("Checks").getAttribute("aria-invalid"), "true");
  await page.keyboard.press("Escape");
  await problem("Checks").waitFor({ state: "detached" });
  await field("Read first").fill("README.md\n\nCHANGELOG.md");
  await field("Retries").fill("many");
  await field("Agent").focus();
  await problem("Retries").filter({ hasText: "This has to be a number" }).waitFor();
  await field("Retries").fill("4");
  await page.keyboard.press("Enter");
  await source(page, '"maxRetries": 4');
  // Nothing at all takes the field away.
  await field("Retries").fill("");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => !document.querySelector(".code-host").shadowRoot.textContent.includes('"maxRetries"'));
  assert.deepEqual(asked, [
    { is: "set", node: "test", field: "context_files", value: ["README.md", "CHANGELOG.md"] },
    { is: "set", node: "test", field: "maxRetries", value: 4 },
    { is: "set", node: "test", field: "maxRetries", value: null },
  ]);
});

inPage("a definition of the catalogue says that it cannot be changed, and offers nothing that would", async (page) => {
  await page.goto(studio.at("/definition/refactor"));
  await page.locator(".node").first().waitFor();
  assert.match(await page.locator(".work-text").textContent(), /belongs to the catalogue.*portolan catalog copy refactor/);
  assert.deepEqual(await page.locator(".work-actions > *").allTextContents(), ["Try it"]);
  assert.equal(await page.locator(".edge-hit, .handle, .palette, [data-form]").count(), 0);
  const text = () => page.evaluate(() => document.querySelector(".code-host").shadowRoot.querySelector(".cm-content").innerText);
  await page.waitForFunction(() => document.querySelector(".code-host")?.shadowRoot?.querySelectorAll(".cm-line").length > 3);
  const before = await text();
  await page.locator(".code-host").getByText('"name"').first().click();
  await page.keyboard.type("x");
  await page.keyboard.press("Delete");
  await page.locator("[data-graph]").focus();
  await page.keyboard.press("a");
  assert.equal(await text(), before);
  assert.equal(await page.locator("dialog").count(), 0);
});

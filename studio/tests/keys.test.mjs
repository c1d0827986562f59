// Whoever has no mouse gets everywhere: home, the screens, the graph, the outline and the moments of a run, with the real server.
import assert from "node:assert/strict";
import { soundIn } from "./browser.mjs";
import { inPage, prepare, project, studio } from "./suite.mjs";

prepare((project) => {
  for (const name of ["audit", "audited-change"]) project.example(`examples/navigator/audited-change/${name}.json`, `${name}.json`);
  project.example("examples/navigator/release/release.json", "release.json");
  project.example("examples/activities/follow-up.yaml", "follow-up.yaml");
});

const focused = (page, wanted) => page.waitForFunction((wanted) => document.activeElement?.matches(wanted), wanted);
const selected = (page, node) => page.waitForFunction((node) => new URLSearchParams(location.hash.split("?")[1]).get("node") === node, node);
const rowFocused = (page, name) => page.waitForFunction((name) => document.activeElement?.matches("a.entry") && document.activeElement.textContent.includes(name), name);

inPage("at home a slash searches, and the arrow keys go through what is found", async (page) => {
  await page.goto(studio.at("/"));
  await page.locator("a.entry").first().waitFor();
  await page.keyboard.press("/");
  await focused(page, "[aria-label='Search definitions and runs']");
  await page.keyboard.type("audit");
  await page.waitForFunction(() => [...document.querySelectorAll("section[aria-label=Definitions] a.entry")].length === 2);
  await page.keyboard.press("ArrowDown");
  await rowFocused(page, "Audit");
  await page.keyboard.press("ArrowDown");
  await rowFocused(page, "Audited Change");
  // Up from the first leads back to what is searched for.
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  await focused(page, "[data-search]");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.locator(".work-head h1:text-is('Audited Change')").waitFor();
});

inPage("a question mark shows the keys, and two letters go to a screen", async (page, said) => {
  await page.goto(studio.at("/"));
  await page.locator("a.entry").first().waitFor();
  await page.keyboard.press("?");
  await page.locator("dialog[open] .keys").waitFor();
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await soundIn(page, said, `the keys, ${colorScheme}`);
  }
  // They are what it shows, and not what it does.
  await page.keyboard.press("g");
  await page.keyboard.press("i");
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  assert.equal(await page.evaluate(() => location.hash), "#/");
  for (const [letter, screen, address] of [["i", "Inbox", "#/inbox"], ["p", "Project", "#/project"], ["h", "Home", "#/"]]) {
    await page.keyboard.press("g");
    await page.keyboard.press(letter);
    await page.locator(`nav [aria-current=page][title=${screen}]`).waitFor();
    assert.equal(await page.evaluate(() => location.hash), address);
  }
});

inPage("the graph is one stop of the Tab key; arrows walk along its edges, and Enter opens the form", async (page) => {
  await page.goto(studio.at("/definition/release"));
  await page.locator(".node").first().waitFor();
  const graph = page.locator("[data-graph]");
  await graph.focus();
  await page.keyboard.press("Tab");
  // However many steps there are, none is in the way.
  assert.ok(await page.evaluate(() => document.activeElement.closest(".react-flow__node") === null));
  await page.keyboard.press("Shift+Tab");
  await focused(page, "[data-graph]");
  for (const node of ["start", "write_notes", "test", "approve", "tag"]) {
    await page.keyboard.press("ArrowDown");
    await selected(page, node);
  }
  // Back the way one came, to the step beside, and what is heard of it.
  await page.keyboard.press("ArrowUp");
  await selected(page, "approve");
  await page.keyboard.press("ArrowRight");
  await selected(page, "stuck");
  await page.locator("[aria-live]:text-is('Tests keep failing, checkpoint, leads to Not released, Repair')").waitFor({ state: "attached" });
  await page.keyboard.press("ArrowUp");
  await selected(page, "test");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement?.closest("[data-form]") && document.activeElement.labels[0].textContent.startsWith("Name"));
  await page.keyboard.press("Escape");
  await focused(page, "[data-graph]");
});

const drawn = (page, id) => page.locator(`.react-flow__node[data-id="${id}"]`);
const folded = async (page, box, child) => {
  await drawn(page, box).waitFor();
  await drawn(page, child).waitFor({ state: "detached" });
};

inPage("Space folds and opens a subflow, a loop and an activity", async (page, said) => {
  await page.goto(studio.at("/definition/audited-change?node=audit"));
  await folded(page, "audit", "audit/inspect");
  await page.locator("[data-graph]").focus();
  await page.keyboard.press("Space");
  await drawn(page, "audit/inspect").waitFor();
  await soundIn(page, said, "an open subflow");
  await page.keyboard.press("Space");
  await folded(page, "audit", "audit/inspect");
  for (const [box, child] of [["loop:file.each", "file.issue"], ["activity:file", "file.collect"]]) {
    await page.evaluate((box) => (location.hash = `#/definition/follow-up?node=${box}`), box);
    await drawn(page, child).waitFor();
    await page.locator(".node.selected.open").waitFor();
    await page.locator("[data-graph]").focus();
    await page.keyboard.press("Space");
    await folded(page, box, child);
    await page.keyboard.press("Space");
    await drawn(page, child).waitFor();
  }
});

inPage("the outline is a tree: its levels, what is open, and the keys of a tree", async (page) => {
  await page.goto(studio.at("/definition/follow-up"));
  const tree = page.getByRole("tree", { name: "Outline" });
  const item = (name) => tree.getByRole("treeitem", { name });
  await tree.waitFor();
  await tree.focus();
  await page.keyboard.press("Home");
  await selected(page, "start");
  await page.keyboard.press("ArrowDown");
  await selected(page, "activity:file");
  const box = item(/^Follow-up/).first();
  assert.deepEqual(await box.evaluate((row) => ["level", "posinset", "setsize", "expanded", "selected"].map((name) => row.getAttribute(`aria-${name}`))), ["1", "2", "4", "true", "true"]);
  assert.equal(await tree.getAttribute("aria-activedescendant"), await box.getAttribute("id"));
  await page.keyboard.press("ArrowRight");
  await selected(page, "file");
  assert.equal(await item(/^File an issue/).getAttribute("aria-level"), "3");
  await page.keyboard.press("ArrowLeft");
  await selected(page, "activity:file");
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction(() => document.querySelector("[role=treeitem][aria-selected=true]").getAttribute("aria-expanded") === "false");
  await item(/^Look through/).waitFor({ state: "detached" });
  await page.keyboard.press("ArrowRight");
  await item(/^Look through/).waitFor();
  await page.keyboard.press("End");
  await selected(page, "done");
});

inPage("the slider and the brackets go from moment to moment of a run, and n to now", async (page) => {
  const agent = await project.agent().begin();
  const run = await agent.open("release", "version 2");
  await agent.next("passed");
  await agent.next("failed");
  await agent.next("passed");
  agent.end();
  const { head } = await studio.ask(`/runs/${run}`);
  assert.ok(head >= 5);
  const at = (seq) => page.waitForFunction(([address, seq]) => location.hash === address && document.querySelector(".slider-place b")?.textContent === String(seq), [`#/run/${run}${seq === head ? "" : `@${seq}`}`, seq]);
  await page.goto(studio.at(`/run/${run}@2`));
  await at(2);
  await page.locator("input[type=range]").focus();
  await page.keyboard.press("ArrowRight");
  await at(3);
  await page.keyboard.press("Home");
  await at(1);
  await page.keyboard.press("End");
  await at(head);
  await page.locator("[data-graph]").focus();
  await page.keyboard.press("[");
  await at(head - 1);
  await page.keyboard.press("[");
  await at(head - 2);
  await page.keyboard.press("]");
  await at(head - 1);
  await page.keyboard.press("n");
  await at(head);
});

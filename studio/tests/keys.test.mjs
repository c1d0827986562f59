// What is done by keyboard alone on every screen: search, keys, the graph, the clipboard. Editing has tests of its own.
import assert from "node:assert/strict";
import { inPage, prepare, project, studio } from "./suite.mjs";

prepare((project) => {
  project.example("examples/navigator/release/release.json", "release.json");
  project.example("examples/activities/follow-up.yaml", "follow-up.yaml");
  project.example("examples/tool-graphs/inventory.yaml", "inventory.yaml");
  project.believe("bug-fix");
});

const active = (page) => page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.tagName);
const at = (page, node) => page.waitForFunction((node) => new URLSearchParams(location.hash.split("?")[1]).get("node") === node, node);
const graph = (page) => page.locator("[data-graph]");

inPage("a slash searches, and arrow keys go through what is found", async (page) => {
  await page.goto(studio.at("/"));
  await page.waitForSelector(".entry");
  await page.keyboard.press("/");
  assert.equal(await active(page), "Search definitions and runs");
  await page.keyboard.type("inventory");
  await page.waitForFunction(() => document.querySelectorAll(".entry.definition").length === 1);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.startsWith("#/definition/inventory"));
});

inPage("the keys are shown, and lead to the screens", async (page) => {
  await page.goto(studio.at("/"));
  await page.waitForSelector(".entry");
  await page.keyboard.press("?");
  await page.waitForSelector("dialog[open]");
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  for (const [key, screen] of [["i", "#/inbox"], ["p", "#/project"], ["h", "#/"]]) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await page.waitForFunction((screen) => location.hash === screen, screen);
  }
});

inPage("the graph is one stop of the Tab key, in which arrow keys walk along the edges", async (page) => {
  await page.goto(studio.at("/definition/release?node=write_notes"));
  await page.waitForSelector(".node.selected");
  const stops = await page.evaluate(() => document.querySelectorAll(".graph-keys [tabindex='0'], .graph-keys button:not([tabindex='-1'])").length);
  assert.equal(stops, 0);
  await graph(page).focus();
  await page.keyboard.press("ArrowDown");
  await at(page, "test");
  await page.keyboard.press("ArrowDown");
  await at(page, "approve");
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => !location.hash.endsWith("node=approve"));
  await page.keyboard.press("ArrowUp");
  await at(page, "test");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement?.closest("[aria-label=Details]"));
});

inPage("an activity and a loop fold and open with the space bar, and are a tree for screen readers", async (page) => {
  await page.goto(studio.at("/definition/follow-up?node=activity%3Afile"));
  await page.waitForSelector(".node.selected");
  const outline = page.locator("aside[aria-label=Outline] [role=treeitem]", { hasText: "File an issue" });
  await outline.waitFor();
  await graph(page).focus();
  await page.keyboard.press("Space");
  await page.waitForFunction(() => !document.querySelector('.react-flow__node[data-id="file.issue"]'));
  await outline.waitFor({ state: "detached" });
  await page.keyboard.press("Space");
  await page.waitForSelector('.react-flow__node[data-id="file.issue"]');
  assert.ok((await page.locator("aside[aria-label=Outline] [role=treeitem][aria-expanded=true]").count()) >= 2);
});

inPage("a click in the source selects the step that it is about", async (page) => {
  await page.goto(studio.at("/definition/release"));
  await page.waitForFunction(() => document.querySelector(".code-host")?.shadowRoot?.querySelectorAll(".cm-line").length > 10);
  await page.locator(".code-host").getByText('"agent"').first().click();
  await at(page, "write_notes");
});

inPage(
  "a step is copied into another definition",
  async (page) => {
    project.write(".flow/workflows/other.json", JSON.stringify({ name: "Other", nodes: { start: { type: "start" }, work: { type: "task", name: "Work" }, done: { type: "end", result: "success" } }, edges: [{ from: "start", to: "work" }, { from: "work", to: "done" }] }, null, 2));
    await page.goto(studio.at("/definition/release?node=write_notes"));
    await page.waitForSelector(".node.selected");
    await graph(page).focus();
    await page.keyboard.press("Control+c");
    await page.evaluate(() => (location.hash = "#/definition/other?node=work"));
    await page.waitForSelector(".node.selected .name:text-is('Work')");
    await graph(page).focus();
    await page.keyboard.press("Control+v");
    await page.waitForSelector(".node.selected .name:text-is('Write the release notes')");
    await at(page, "write_notes");
    await page.keyboard.press("Control+z");
    await page.waitForSelector(".work-actions .primary:text-is('Saved')");
  },
  { permissions: ["clipboard-read", "clipboard-write"] },
);

for (const [width, height, name] of [[1024, 700, "in a window of 1024 px"], [640, 450, "at 200 % zoom"]]) {
  inPage(
    `nothing is cut off ${name}`,
    async (page) => {
      const agent = await project.agent().begin();
      const run = await agent.open("bug-fix", "the login fails");
      await agent.next("passed");
      agent.end();
      const screens = { "/": ".entry", "/definition/release?node=test": ".node", [`/run/${run}`]: ".work-text a", [`/run/${run}@2`]: ".badge", "/inbox": "main", "/project": ".project-facts", [`/compare/${run}@1/${run}@2`]: ".diff-words" };
      for (const [route, ready] of Object.entries(screens)) {
        await page.goto(studio.at(route));
        await page.waitForSelector(ready);
        const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth + Math.max(0, document.querySelector("main").scrollWidth - document.querySelector("main").clientWidth));
        assert.ok(over <= 0, `${route} is ${over} px too wide`);
      }
    },
    { viewport: { width, height } },
  );
}

// How a graph stands in its pane when it is opened and edited, what can be chosen on it, and what its marks mean, with the real server.
import assert from "node:assert/strict";
import { soundIn } from "./browser.mjs";
import { inPage, picture, prepare, studio } from "./suite.mjs";

/** Steps one after the other, each with a name that is to be read. */
function chain(steps) {
  const nodes = { start: { type: "start" } };
  const ids = ["start"];
  for (let i = 1; i <= steps; i++) {
    nodes[`step_${i}`] = { type: "task", name: `Step number ${i}`, ...(i === 2 ? { maxRetries: 2 } : {}) };
    ids.push(`step_${i}`);
  }
  nodes.done = { type: "end", result: "success" };
  ids.push("done");
  return { name: `${steps} steps`, nodes, edges: ids.slice(1).map((to, i) => ({ from: ids[i], to })) };
}

prepare((project) => {
  for (const steps of [2, 11, 24]) project.write(`.flow/workflows/chain-${steps}.json`, JSON.stringify(chain(steps), null, 2));
});

const LAPTOP = { viewport: { width: 1280, height: 800 } };
const SMALL = { viewport: { width: 900, height: 700 } };

const scale = (page) => page.evaluate(() => new DOMMatrix(getComputedStyle(document.querySelector(".react-flow__viewport")).transform).a);
const node = (page, id) => page.locator(`.react-flow__node[data-id="${id}"]`);
const details = (page) => page.locator("aside[aria-label=Details]");

/** Waits until a step is within the pane of the graph, and no longer moves. */
const inView = (page, id) =>
  page.waitForFunction((id) => {
    const pane = document.querySelector(".pane.middle")?.getBoundingClientRect();
    const box = document.querySelector(`.react-flow__node[data-id="${id}"]`)?.getBoundingClientRect();
    return pane && box && box.top >= pane.top && box.bottom <= pane.bottom && box.left >= pane.left && box.right <= pane.right;
  }, id);

inPage(
  "on a small laptop a graph of eleven steps begins at its start, with names that can be read",
  async (page, said) => {
    await page.goto(studio.at("/definition/chain-11"));
    await inView(page, "start");
    assert.ok((await scale(page)) >= 0.7, String(await scale(page)));
    const [pane, all] = await Promise.all([page.locator(".pane.middle").boundingBox(), page.viewportSize()]);
    assert.ok(pane.width > all.width * 0.6 && pane.height > all.height * 0.75, JSON.stringify(pane));
    // The source is there as soon as it is wanted, and stays so.
    await page.getByRole("button", { name: "Open the source" }).click();
    await page.locator(".code-host").waitFor();
    await page.reload();
    await page.getByRole("button", { name: "Close the source" }).waitFor();
    await soundIn(page, said, "a small laptop");
    await picture(page, "small-laptop");
  },
  LAPTOP,
);

inPage(
  "in a small window the legend is closed and covers no step, and says what the marks mean when it is opened",
  async (page, said) => {
    await page.goto(studio.at("/definition/chain-11"));
    await inView(page, "start");
    const legend = page.locator(".marks-legend");
    assert.equal((await legend.locator("summary").innerText()).trim().split("\n")[0], "Legend");
    const [summary, credit] = await Promise.all([legend.boundingBox(), page.locator(".react-flow__attribution").boundingBox()]);
    assert.ok(summary.width < 110 && summary.x + summary.width < credit.x, JSON.stringify({ summary, credit }));
    // It has a line of its own below the drawing.
    const drawing = await page.locator(".graph-keys").boundingBox();
    assert.ok(summary.y >= drawing.y + drawing.height, JSON.stringify({ summary, drawing }));
    await legend.locator("summary").focus();
    await page.keyboard.press("Enter");
    await legend.getByText("Whoever does the work is believed").waitFor();
    await legend.getByText("One dot for each time that the step may be tried again").waitFor();
    await soundIn(page, said, "the legend");
  },
  SMALL,
);

inPage("a step is added from the panel of an edge, and stands in view", async (page) => {
  await page.goto(studio.at("/definition/chain-11?node=start"));
  await inView(page, "start");
  await page.locator("[data-graph]").focus();
  assert.equal(await page.locator(".node.selected").count(), 1);
  await page.keyboard.press("e");
  // What is selected is the edge: no step is, neither in the drawing nor in the outline.
  await page.waitForFunction(() => document.querySelectorAll(".node.selected, [role=treeitem][aria-selected=true]").length === 0);
  await details(page).getByRole("button", { name: "Add a step here…" }).click();
  const dialog = page.locator("dialog");
  assert.match(await dialog.getByLabel("Where").locator("option").first().textContent(), /^Between “start” and “Step number 1”/);
  await dialog.getByLabel(/^Name/).fill("Look around");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector('[data-edge="start->look_around"]') !== null);
  await inView(page, "look_around");
});

inPage(
  "a step that is added far from what is shown is brought into view",
  async (page) => {
    await page.goto(studio.at("/definition/chain-11"));
    await inView(page, "start");
    await page.locator("[data-graph]").focus();
    await page.keyboard.press("a");
    const dialog = page.locator("dialog");
    await dialog.getByLabel(/^Name/).fill("Say goodbye");
    await dialog.getByLabel("Where").selectOption({ label: "Between “Step number 11” and “done”" });
    await dialog.getByRole("button", { name: "Add" }).click();
    await inView(page, "say_goodbye");
    assert.ok((await scale(page)) >= 0.7);
  },
  LAPTOP,
);

inPage(
  "a graph that was whole stays whole when a step is added",
  async (page) => {
    await page.goto(studio.at("/definition/chain-2"));
    await inView(page, "done");
    await page.locator("[data-graph]").focus();
    for (const name of ["Third", "Fourth"]) {
      await page.keyboard.press("a");
      const dialog = page.locator("dialog");
      await dialog.getByLabel(/^Name/).fill(name);
      await dialog.getByLabel("Where").selectOption({ label: name === "Third" ? "Between “Step number 2” and “done”" : "Between “Third” and “done”" });
      await dialog.getByRole("button", { name: "Add" }).click();
      await inView(page, name.toLowerCase());
      await page.waitForSelector("dialog", { state: "detached" });
      await page.waitForFunction(() => document.activeElement?.closest("[data-form]"));
      await page.keyboard.press("Escape");
    }
    await inView(page, "start");
    await inView(page, "done");
  },
  LAPTOP,
);

inPage(
  "where a graph is painted, a click selects an edge, and its panel is there",
  async (page, said) => {
    await page.goto(studio.at("/definition/chain-24"));
    await inView(page, "start");
    await page.locator("[data-graph]").focus();
    while ((await page.locator(".graph.is-far").count()) === 0) {
      const before = await scale(page);
      await page.keyboard.press("-");
      await page.waitForFunction((before) => new DOMMatrix(getComputedStyle(document.querySelector(".react-flow__viewport")).transform).a < before, before);
    }
    await page.keyboard.press("0");
    const { drawing } = await studio.ask("/definitions/chain-24");
    const edge = drawing.edges.find(({ from, to }) => from === "step_12" && to === "step_13");
    const [[x, top], [, bottom]] = [edge.points[0], edge.points.at(-1)];
    const heading = details(page).getByRole("heading", { name: "Edge" });
    const at = await page.evaluate(
      ([x, y]) => {
        const matrix = new DOMMatrix(getComputedStyle(document.querySelector(".react-flow__viewport")).transform);
        const pane = document.querySelector(".react-flow").getBoundingClientRect();
        return { x: pane.x + matrix.e + x * matrix.a, y: pane.y + matrix.f + y * matrix.d };
      },
      [x, (top + bottom) / 2],
    );
    await page.mouse.click(at.x + 3, at.y);
    await heading.waitFor();
    await details(page).getByRole("button", { name: "Step number 12" }).waitFor();
    await details(page).getByRole("button", { name: "Step number 13" }).waitFor();
    await soundIn(page, said, "painted");
  },
  { reducedMotion: "reduce" },
);

inPage("Enter selects the first step that is found, at once, and the keys are those of the graph", async (page) => {
  await page.goto(studio.at("/definition/chain-24"));
  await inView(page, "start");
  await page.keyboard.press("/");
  await page.getByLabel("Find a step").fill("number 23");
  await page.keyboard.press("Enter");
  await details(page).getByRole("heading", { name: "Step number 23" }).waitFor();
  await inView(page, "step_23");
  await page.waitForFunction(() => document.activeElement?.matches("[data-graph]"));
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement?.closest("[data-form]"));
});

// What is to be seen at first sight: what a run has cost, at home; what still loads; and the shapes of steps and edges that mean
// something, as the browser draws them.
import assert from "node:assert/strict";
import { soundIn } from "./browser.mjs";
import { inPage, prepare, project, studio } from "./suite.mjs";

// The answer has a price and a usage; then a person is asked, so that the run stands at home with what it has cost so far.
const TOLD = `states:
  tell: { objective: Say what portolan charts show }
  good: { ask: "May it be printed?" }
transitions: { tell: good }
`;
// 25,000 tokens at $3 and 1,000 at $15 a million.
const ANSWERS = `- for: tell
  text: Portolan charts show coasts.
  usage: { input: 25000, output: 1000 }
`;

prepare((project) => {
  project.example("examples/navigator/release/release.json", "release.json");
  const release = JSON.parse(project.read(".flow/workflows/release.json"));
  for (const node of Object.values(release.nodes)) delete node.accept;
  project.write(".flow/workflows/release.json", JSON.stringify(release));
  project.example("examples/activities/follow-up.yaml", "follow-up.yaml");
  project.write(".flow/workflows/told.yaml", TOLD);
  // Nobody is asked: it ends, and has cost something all the same.
  project.write(".flow/workflows/done.yaml", "states:\n  tell: { objective: Say what portolan charts show }\n");
  for (const name of ["priced", "free"]) project.write(`${name}.yaml`, ANSWERS);
  project.write(".portolan/prices.yaml", `prices:\n  "scripted:${project.path}/priced.yaml": { input: 3, output: 15 }\n`);
});

const asked = async (answers, definition = "told") => (await studio.post(`/definitions/${definition}/try`, { input: {}, model: `scripted:${project.path}/${answers}.yaml` })).run;

inPage("at home a run shows the money that its model has cost, and tokens where no price is known", async (page, said) => {
  const [priced, free] = [await asked("priced"), await asked("free")];
  await page.goto(studio.at("/"));
  const end = (run) => page.locator("a.entry.run", { hasText: run }).locator(".entry-end");
  const money = end(priced).getByText("$0.0900", { exact: true });
  await money.waitFor();
  assert.match(await money.getAttribute("title"), /25,000 input tokens · 1,000 output tokens · \$0\.0900/);
  await end(free).getByText("26,000 tokens", { exact: true }).waitFor();
  assert.doesNotMatch(await end(free).textContent(), /\$/);
  const done = await asked("priced", "done");
  await end(done).getByText("$0.0900", { exact: true }).waitFor();
  await page.locator("a.entry.run", { hasText: done }).getByText("success").waitFor();
  await soundIn(page, said, "what runs have cost");
});

inPage("what still loads says what it is, beside three bars that move, until it is there", async (page, said) => {
  const held = [];
  let holds = true;
  await page.route(/\/api\/v1\/(definitions|runs)(\?.*)?$/, (route) => (holds ? held.push(route) : route.continue()));
  await page.goto(studio.at("/"));
  for (const [section, what] of [["Open runs", "Loading runs"], ["Definitions", "Loading definitions"]]) {
    const loading = page.getByRole("region", { name: section }).locator(".loading[role=status]");
    await loading.waitFor();
    assert.equal((await loading.textContent()).trim(), what);
    const bars = await loading.locator(".bars > i").evaluateAll((bars) => bars.map((bar) => [getComputedStyle(bar).animationName, bar.getBoundingClientRect().width > 0]));
    assert.deepEqual(bars, [["bars", true], ["bars", true], ["bars", true]]);
  }
  await soundIn(page, said, "loading");
  holds = false;
  for (const route of held.splice(0)) await route.continue();
  await page.locator("a.entry.definition").first().waitFor();
  await page.waitForFunction(() => document.querySelectorAll(".loading").length === 0);
});

/** The corners of a path of straight lines; one with arcs has none that are counted. */
const corners = (path) => (/[aqc]/i.test(path) ? 0 : path.match(/[MHVL]/g).length);
const shape = (page, node, part) => page.locator(`.react-flow__node[data-id="${node}"] > .node > .shape > .${part}`);

inPage("a checkpoint is an octagon, and what waits for a person has a double border", async (page) => {
  await page.goto(studio.at("/definition/release"));
  const path = (node, part) => shape(page, node, part).getAttribute("d");
  await shape(page, "approve", "outline").waitFor({ state: "attached" });
  assert.equal(corners(await path("approve", "outline")), 8);
  assert.equal(corners(await path("stuck", "outline")), 8);
  for (const node of ["start", "write_notes", "test", "released"]) assert.notEqual(corners(await path(node, "outline")), 8, node);
  assert.equal(await page.locator(".shape > .inner").count(), 0, "nothing waits in a definition");
  const agent = await project.agent().begin();
  const run = await agent.open("release", "version 2");
  await agent.next("passed");
  await page.goto(studio.at(`/run/${run}`));
  await page.locator(".node.here").waitFor();
  assert.equal(await page.locator(".shape > .inner").count(), 0, "nothing waits yet");
  await agent.next("passed");
  agent.end();
  await page.locator('.react-flow__node[data-id="approve"] .node.waiting').waitFor();
  assert.equal(await page.locator(".shape > .inner").count(), 1);
  // Both borders are drawn, and one is within the other on every side.
  const [outer, inner] = await Promise.all(
    ["outline", "inner"].map((part) =>
      shape(page, "approve", part).evaluate((path) => {
        const { x, y, width, height } = path.getBBox();
        const { stroke, strokeWidth } = getComputedStyle(path);
        return { left: x, top: y, right: x + width, bottom: y + height, seen: stroke !== "none" && parseFloat(strokeWidth) > 0 };
      }),
    ),
  );
  assert.ok(outer.seen && inner.seen, JSON.stringify([outer, inner]));
  assert.ok(inner.left >= outer.left + 3 && inner.top >= outer.top + 3 && inner.right <= outer.right - 3 && inner.bottom <= outer.bottom - 3, JSON.stringify([outer, inner]));
  assert.equal(corners(await path("approve", "inner")), 8);
});

inPage(
  "an edge that the text does not name is dotted, and no other is",
  async (page) => {
    // None of the examples has such an edge: one is said to be it on its way to the page.
    const { drawing } = await studio.ask("/definitions/follow-up");
    const wanted = drawing.edges[3].id;
    await page.route(/\/api\/v1\/definitions\/follow-up(\/checks)?(\?.*)?$/, async (route) => {
      const response = await route.fetch();
      const answer = await response.json();
      for (const edge of answer.drawing?.edges ?? []) edge.implied = edge.id === wanted;
      await route.fulfill({ response, json: answer });
    });
    await page.goto(studio.at("/definition/follow-up"));
    await page.waitForFunction((edges) => document.querySelectorAll("[data-edge]").length === edges, drawing.edges.length);
    const dotted = await page.locator("[data-edge]").evaluateAll((edges) => edges.filter((edge) => getComputedStyle(edge.querySelector(".edge > path")).strokeDasharray === "1.5px, 4px").map((edge) => edge.dataset.edge));
    assert.deepEqual(dotted, [wanted]);
    // The legend says what that means.
    await page.locator(".marks-legend summary").click();
    await page.locator(".marks-legend dt", { hasText: "implied" }).waitFor();
  },
  // All of it is in the window: an edge that is not is not drawn.
  { viewport: { width: 1600, height: 2600 } },
);

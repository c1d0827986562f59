// Steps are moved by hand, with the mouse and with keys: where they stand is kept beside the project, and in no definition.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { inPage, picture, prepare, project, studio } from "./suite.mjs";
import { soundIn } from "./browser.mjs";

prepare((project) => {
  project.example("examples/navigator/release/release.json", "release.json");
  project.example("examples/activities/follow-up.yaml", "follow-up.yaml");
});

const kept = (definition = "release") => {
  if (!existsSync(join(project.path, ".portolan/layout.json"))) return null;
  const { definitions } = JSON.parse(project.read(".portolan/layout.json"));
  return definitions[`.flow/workflows/${definition}`] ?? null;
};

/** Where a step stands from another one, in pixels of the drawing. */
async function from(page, other, node) {
  const [[left, top], [x, y]] = [await placeOf(page, other), await placeOf(page, node)];
  return [x - left, y - top];
}

const placeOf = (page, node) =>
  page.evaluate((node) => {
    const [, x, y] = /translate\(([-\d.]+)px, ?([-\d.]+)px\)/.exec(document.querySelector(`.react-flow__node[data-id="${node}"]`).style.transform);
    return [Number(x), Number(y)];
  }, node);

async function at(page, definition, node) {
  await page.goto(studio.at(`/definition/${definition}?node=${node}`));
  await page.waitForSelector(`.react-flow__node[data-id="${node}"]`);
}

async function keptSoon(page, definition, held) {
  const deadline = Date.now() + 10_000;
  while (!held(kept(definition))) {
    assert.ok(Date.now() < deadline, JSON.stringify(kept(definition)));
    await page.waitForTimeout(20);
  }
}

inPage("a step is dragged, its edges follow, and it stands there from then on", async (page, said) => {
  await at(page, "release", "repair");
  const nodes = await page.locator(".react-flow__node").count();
  const before = await from(page, "start", "repair");
  const box = await page.locator('.react-flow__node[data-id="repair"]').boundingBox();
  await page.mouse.move(box.x + 20, box.y + 10);
  await page.mouse.down();
  await page.mouse.move(box.x + 120, box.y + 40, { steps: 5 });
  await page.mouse.move(box.x + 220, box.y + 50, { steps: 5 });
  await page.mouse.up();
  await keptSoon(page, "release.json", (flows) => flows?.release?.repair);
  const [right, down] = kept("release.json").release.repair;
  assert.ok(right > 60 && down > 0, `${right} ${down}`);
  await page.waitForSelector('.zoom [aria-label="Lay out again"]');
  const moved = await from(page, "start", "repair");
  assert.deepEqual([moved[0] - before[0], moved[1] - before[1]], [right, down]);
  const after = await placeOf(page, "repair");
  assert.equal(await page.locator(".react-flow__node").count(), nodes);
  // An edge ends where the step is now.
  const ends = await page.evaluate(() => {
    const path = [...document.querySelectorAll("[data-edge]")].find((edge) => edge.dataset.edge.endsWith("->repair")).querySelector("path");
    const { x, y } = path.getPointAtLength(path.getTotalLength());
    return [x, y];
  });
  assert.ok(Math.abs(ends[1] - after[1]) < 2 && ends[0] > after[0], `${ends} ${after}`);
  await picture(page, "moved");
  await soundIn(page, said, "moved");
  await page.reload();
  await at(page, "release", "repair");
  await page.waitForSelector('.zoom [aria-label="Lay out again"]');
  assert.deepEqual(await placeOf(page, "repair"), after);
  // The definition is as it was.
  assert.equal(project.git("status", "--porcelain"), "");
});

inPage("keys move the chosen step, a new name takes its place along, and all is laid out again", async (page) => {
  await at(page, "release", "repair");
  await page.locator("[data-graph]").focus();
  const [right, down] = kept("release.json").release.repair;
  for (const key of ["Shift+ArrowRight", "Shift+ArrowRight", "Shift+ArrowDown"]) await page.keyboard.press(key);
  await keptSoon(page, "release.json", (flows) => flows.release.repair[0] === right + 20 && flows.release.repair[1] === down + 10);
  await page.keyboard.press("F2");
  await page.waitForSelector("dialog[open]");
  await page.locator("dialog").getByLabel(/^Id/).fill("assemble");
  await page.keyboard.press("Enter");
  await keptSoon(page, "release.json", (flows) => flows.release.assemble);
  assert.deepEqual(kept("release.json").release.assemble, [right + 20, down + 10]);
  await page.locator('.zoom [aria-label="Lay out again"]').click();
  await keptSoon(page, "release.json", (flows) => flows === null);
  await page.waitForSelector('.zoom [aria-label="Lay out again"]', { state: "detached" });
  // Each of them is a step of the history, and the moves of one node are one.
  await page.keyboard.press("Control+z");
  await keptSoon(page, "release.json", (flows) => flows?.release.assemble);
  assert.deepEqual(kept("release.json").release.assemble, [right + 20, down + 10]);
  await page.getByText("Undone: what was moved by hand.").waitFor();
  await page.keyboard.press("Control+z");
  await page.locator(".outline [data-id=repair], .react-flow__node[data-id=repair]").first().waitFor();
  await page.keyboard.press("Control+z");
  await keptSoon(page, "release.json", (flows) => flows.release.repair[0] === right);
  assert.deepEqual(kept("release.json").release.repair, [right, down]);
  await page.keyboard.press("Shift+Control+z");
  await keptSoon(page, "release.json", (flows) => flows.release.repair[0] === right + 20);
  assert.equal(project.git("status", "--porcelain"), "");
});

inPage("an activity takes along what stands in it, and its inside still pans and chooses it", async (page) => {
  const { drawing } = await studio.ask("/definitions/follow-up");
  const box = drawing.nodes.find((node) => node.container === "open");
  const child = drawing.nodes.find((node) => node.parent === box.id);
  await at(page, "follow-up", child.id);
  const before = await placeOf(page, child.id);
  const face = await page.locator(`.react-flow__node[data-id="${box.id}"] .face`).boundingBox();
  await page.mouse.move(face.x + face.width / 2, face.y + 8);
  await page.mouse.down();
  await page.mouse.move(face.x + face.width / 2 + 60, face.y + 8, { steps: 6 });
  await page.mouse.up();
  await keptSoon(page, "follow-up.yaml", (flows) => flows);
  const [[right]] = Object.values(Object.values(kept("follow-up.yaml"))[0]);
  assert.equal((await placeOf(page, child.id))[0] - before[0], right);
  const inside = await page.locator(`.react-flow__node[data-id="${box.id}"]`).boundingBox();
  await page.mouse.click(inside.x + 6, inside.y + 50);
  await page.waitForFunction((id) => new URLSearchParams(location.hash.split("?")[1]).get("node") === id, box.id);
});

inPage("a studio that only shows moves nothing", async (page) => {
  const showing = await project.studio("--read-only");
  try {
    await page.goto(showing.at("/definition/release?node=repair"));
    await page.waitForSelector('.react-flow__node[data-id="repair"]');
    const [before, known] = [await placeOf(page, "repair"), kept("release.json")];
    await page.locator("[data-graph]").focus();
    await page.keyboard.press("Shift+ArrowRight");
    await page.keyboard.press("ArrowUp");
    await page.waitForFunction(() => new URLSearchParams(location.hash.split("?")[1]).get("node") !== "repair");
    assert.deepEqual(await placeOf(page, "repair"), before);
    assert.deepEqual(kept("release.json"), known);
  } finally {
    await showing.kill();
  }
});

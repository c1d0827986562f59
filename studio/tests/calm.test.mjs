// Whoever wants less motion gets none: nothing on the page is animated, and a step is brought into view at once.
import assert from "node:assert/strict";
import { Hands } from "./hands.mjs";
import { inPage, prepare, project, studio } from "./suite.mjs";

prepare((project) => {
  project.example("examples/navigator/release/release.json", "release.json");
  project.example("examples/activities/follow-up.yaml", "follow-up.yaml");
});

/** Notes whatever is set in motion: by rules of style, by scripts, and by moving the whole drawing little by little. */
function watchMotion() {
  window.motions = [];
  const note = (what) => window.motions.push(what);
  const animate = Element.prototype.animate;
  Element.prototype.animate = function (...args) {
    note("animate");
    return animate.apply(this, args);
  };
  for (const began of ["animationstart", "transitionrun"]) document.addEventListener(began, ({ animationName, propertyName }) => note(animationName ?? propertyName), true);
  // Where the window of the drawing has been, place by place.
  window.places = new Set();
  const place = () => {
    const style = document.querySelector(".react-flow__viewport")?.style.transform;
    if (style) window.places.add(style);
    requestAnimationFrame(place);
  };
  requestAnimationFrame(place);
}

/** What moves while a person looks at a run, goes through its dialogs, and folds and zooms a drawing. */
async function motions(page, run) {
  await page.addInitScript(watchMotion);
  const running = new Set();
  const look = async () => {
    const found = await page.evaluate(() => document.getAnimations().filter((animation) => animation.playState === "running" && animation.effect.getComputedTiming().duration > 0).map((animation) => animation.animationName ?? animation.transitionProperty ?? "animate"));
    for (const name of found) running.add(name);
  };
  const dialog = async (open) => {
    await open();
    await page.waitForSelector("dialog[open]");
    await look();
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "detached" });
  };
  await page.goto(studio.at(`/run/${run}`));
  await page.waitForSelector(".badge.here");
  await look();
  await dialog(() => page.keyboard.press("?"));
  await page.goto(studio.at(`/run/${run}@2`));
  await page.waitForFunction(() => document.querySelector(".slider-place b")?.textContent === "2");
  await page.waitForSelector(".badge.here");
  await dialog(() => page.getByRole("button", { name: "Branch from this record…" }).click());
  const hands = new Hands(page);
  await hands.at("release", "test");
  await look();
  for (const key of ["a", "F2"]) await dialog(() => hands.key(key));
  // The cursor of the source is a part of the page, too.
  await page.locator(".code-host").getByText('"nodes"').first().click();
  await page.waitForFunction(() => document.querySelector(".code-host").shadowRoot.activeElement);
  await look();
  await page.goto(studio.at("/definition/follow-up"));
  const fold = page.locator(".node.container .fold").first();
  await fold.waitFor();
  const nodes = await page.locator(".node").count();
  await fold.click();
  await page.waitForFunction((nodes) => document.querySelectorAll(".node").length !== nodes, nodes);
  await look();
  const motions = new Set([...(await page.evaluate(() => window.motions)), ...running]);
  // One key leads from one place to another: those in between are motion.
  const still = (before) =>
    page.waitForFunction((before) => {
      const now = document.querySelector(".react-flow__viewport").style.transform;
      const still = window.last === now && now !== before;
      window.last = now;
      return still && now;
    }, before, { polling: 100 });
  const before = await (await still("")).jsonValue();
  await page.evaluate((before) => (window.places = new Set([before])), before);
  await hands.key("+");
  await still(before);
  const places = await page.evaluate(() => window.places.size);
  return { motions: [...motions], places };
}

async function begun() {
  const agent = await project.agent().begin();
  const run = await agent.open("release", "version 2");
  for (const outcome of ["passed", "failed", "passed"]) await agent.next(outcome);
  agent.end();
  return run;
}

inPage(
  "with reduced motion nothing is animated: a run, its dialogs, a drawing that is folded and zoomed",
  async (page) => {
    assert.deepEqual(await motions(page, await begun()), { motions: [], places: 2 });
  },
  { reducedMotion: "reduce" },
);

inPage("without it the same things move, so that what was looked at could", async (page) => {
  const { motions: all, places } = await motions(page, await begun());
  for (const name of ["pulse", "animate"]) assert.ok(all.includes(name), `${name} is not among ${all}`);
  assert.ok(places > 2);
});

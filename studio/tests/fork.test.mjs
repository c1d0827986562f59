// A person begins a new run from an earlier record of a function's run: with a variable changed in the form, or onto its
// definition as it is in the file by now.
import assert from "node:assert/strict";
import { inPage, prepare, project, studio } from "./suite.mjs";

const WAY = `states:
  pick: { execute: none, set: { way: north, pace: 3 } }
  tell: { transform: { expr: '"to the " & shared.way & " at " & shared.pace' }, is_final: true }
transitions: { pick: tell }
`;

prepare((project) => {
  for (const name of ["way", "course", "heading"]) project.write(`.flow/workflows/${name}.yaml`, WAY);
});

const runIn = (page) => new URL(page.url()).hash.match(/run\/([a-z0-9]+)/)?.[1];
const said = (page, words) => page.waitForFunction((words) => document.querySelector(".drive-bar [role=status]")?.textContent.includes(words), words);
const valuesOf = async (run, seq) => (await studio.ask(`/runs/${run}/at/${seq ?? (await studio.ask(`/runs/${run}`)).head}`)).values[0].value;

/** All that can be asked about a run: its head, its records, and what had a value at each of them. */
async function wholeOf(run) {
  const [one, { records }] = await Promise.all([studio.ask(`/runs/${run}`), studio.ask(`/runs/${run}/records`)]);
  assert.ok(records.length === one.head);
  const moments = await Promise.all(records.map(({ seq }) => studio.ask(`/runs/${run}/at/${seq}`)));
  return { one, records, moments };
}

/** A run that has said where it goes, and the form of its fork at the record where the variables have just been set. */
async function formOf(page) {
  const { run } = await studio.post("/definitions/way/try", { input: {} });
  await page.goto(studio.at(`/run/${run}`));
  await said(page, "ended");
  const before = await wholeOf(run);
  assert.deepEqual(await valuesOf(run, 3), { start: {}, pick: {}, way: "north", pace: 3 });
  assert.equal((await valuesOf(run)).tell, "to the north at 3");
  await page.goto(studio.at(`/run/${run}@3`));
  await page.getByRole("button", { name: "Branch from this record…" }).and(page.locator("[aria-disabled=false]")).click();
  return { run, before, dialog: page.getByRole("dialog", { name: "Branch from record 3" }) };
}

inPage("a variable is changed in the form: the new run has it, goes on with it, and the old one is as it was", async (page) => {
  const { run, before, dialog } = await formOf(page);
  await dialog.getByRole("button", { name: "Change a value" }).click();
  await dialog.getByLabel("Name of the node or variable").fill("way");
  // Its value is there, as it was, to be changed.
  const value = dialog.getByLabel("Value of way, as text");
  assert.equal(await value.inputValue(), "north");
  await dialog.getByText("A variable.").waitFor();
  await value.fill("south");
  await dialog.getByRole("button", { name: "Create the new run, paused" }).click();
  await page.waitForSelector("text=branched from");
  const fork = runIn(page);
  assert.notEqual(fork, run);
  await said(page, "ready: press Go on (c)");
  // Nothing was done yet, but the value is another one, and the others are those of the old run.
  assert.deepEqual(await valuesOf(fork), { start: {}, pick: {}, way: "south", pace: 3 });
  await page.keyboard.press("c");
  await said(page, "ended");
  assert.equal((await valuesOf(fork)).tell, "to the south at 3");
  await page.getByRole("tab", { name: "Values" }).click();
  await page.locator("aside[aria-label=Details]").getByText("to the south at 3").first().waitFor();
  // It names its origin, which leads there; the old run has not even another time.
  const { origin } = await studio.ask(`/runs/${fork}`);
  assert.deepEqual([origin.run, origin.seq], [run, 3]);
  assert.deepEqual(await wholeOf(run), before);
});

inPage("of all values that are shown only those that were changed are another's, and a number stays a number", async (page) => {
  const { run, before, dialog } = await formOf(page);
  await dialog.getByRole("button", { name: `Show all values of ${run}` }).click();
  assert.equal(await dialog.locator(".change-row").count(), 4);
  await dialog.getByLabel("Value of pace, as JSON").fill("5");
  await dialog.getByRole("button", { name: "Create and run it" }).click();
  await page.waitForFunction((run) => !location.hash.includes(run), run);
  await said(page, "ended");
  const fork = runIn(page);
  const { way, pace, tell } = await valuesOf(fork);
  assert.deepEqual({ way, pace, tell }, { way: "north", pace: 5, tell: "to the north at 5" });
  assert.deepEqual(await wholeOf(run), before);
});

inPage("a name that has no value is refused in the form, and no run begins", async (page) => {
  const { run, before, dialog } = await formOf(page);
  const all = async () => (await studio.ask("/runs?all=true")).runs.map(({ run }) => run);
  const runs = await all();
  await dialog.getByRole("button", { name: "Change a value" }).click();
  await dialog.getByLabel("Name of the node or variable").fill("pase");
  await dialog.getByLabel("Value of pase, as JSON").fill("5");
  await dialog.getByRole("button", { name: "Create and run it" }).click();
  await dialog.getByRole("alert").filter({ hasText: "pase" }).waitFor();
  assert.deepEqual(await all(), runs);
  assert.deepEqual(await wholeOf(run), before);
});

/** Has the definition say it in other words. */
const change = (name) => project.write(`.flow/workflows/${name}.yaml`, WAY.replace("to the", "bound for the"));

inPage("of a run that has ended, a new one begins at a record with the definition as it is in the file now, and finishes on that", async (page) => {
  const { run } = await studio.post("/definitions/course/try", { input: {} });
  await page.goto(studio.at(`/run/${run}`));
  await said(page, "ended");
  assert.equal((await valuesOf(run)).tell, "to the north at 3");
  change("course");
  const before = await wholeOf(run);
  await page.goto(studio.at(`/run/${run}@3`));
  await page.getByRole("button", { name: "Branch from this record…" }).and(page.locator("[aria-disabled=false]")).click();
  const dialog = page.getByRole("dialog", { name: "Branch from record 3" });
  assert.equal(await dialog.getByLabel("Definition").inputValue(), "pinned");
  await dialog.getByLabel("Definition").selectOption({ label: "As it is in the file now" });
  await dialog.getByRole("button", { name: "Create and run it" }).click();
  await page.waitForFunction((run) => !location.hash.includes(run), run);
  await said(page, "ended");
  const fork = runIn(page);
  assert.equal((await valuesOf(fork)).tell, "bound for the north at 3");
  await page.getByText(", onto its definition as it was then").waitFor();
  assert.equal(await page.locator(".outdated").count(), 0, "it is the one of the file");
  // The old run is untouched, and a fork with what it began with still says it in its words.
  assert.deepEqual(await wholeOf(run), before);
  assert.equal((await valuesOf(run)).tell, "to the north at 3");
  await page.goto(studio.at(`/run/${run}@3`));
  await page.getByRole("button", { name: "Branch from this record…" }).and(page.locator("[aria-disabled=false]")).click();
  await dialog.getByRole("button", { name: "Create and run it" }).click();
  await page.waitForFunction((run) => !location.hash.includes(run), run);
  await said(page, "ended");
  assert.equal((await valuesOf(runIn(page))).tell, "to the north at 3");
});

inPage("a run that is paused offers the changed definition itself, and stays where it is", async (page) => {
  const { run } = await studio.post("/definitions/heading/try", { input: {}, breakpoints: ["tell"] });
  await page.goto(studio.at(`/run/${run}`));
  await said(page, "paused before tell");
  change("heading");
  await page.getByText("Its definition has changed since. This run goes on with the one that it began with.").waitFor();
  const before = await wholeOf(run);
  await page.getByRole("button", { name: "Branch onto the changed one…" }).click();
  const dialog = page.getByRole("dialog", { name: `Branch from record ${before.one.head}` });
  assert.equal(await dialog.getByLabel("Definition").inputValue(), "current");
  await dialog.getByRole("button", { name: "Create and run it" }).click();
  await page.waitForFunction((run) => !location.hash.includes(run), run);
  // It has the breakpoint of the old one, too.
  await said(page, "paused before tell");
  await page.keyboard.press("c");
  await said(page, "ended");
  assert.equal((await valuesOf(runIn(page))).tell, "bound for the north at 3");
  assert.deepEqual(await wholeOf(run), before);
});

// Definitions are tried out from the page, with the real server: the form, breakpoints, steps, changed values, tests.
import assert from "node:assert/strict";
import { soundIn } from "./browser.mjs";
import { inPage, picture, prepare, project, studio } from "./suite.mjs";

const SUMS = `version: "1.0"
server: {name: sums, version: "1"}
tools:
  - name: sum
    description: Adds two numbers, and says how large their sum is
    inputSchema:
      type: object
      properties:
        a: {type: integer, description: The first number.}
        b: {type: integer, default: 40, minimum: 0, multipleOf: 5, description: The second number.}
        unit: {enum: [mm, cm, m], description: What is counted.}
        key: {type: string, writeOnly: true, description: For numbers of others.}
      required: [a, b]
    outputSchema: {type: object, required: [sum]}
    nodes:
      - {id: entry, type: entry, next: add}
      - {id: add, type: mcp, server: echo, tool: add, args: {a: {expr: $.entry.a}, b: {expr: $.entry.b}}, next: large}
      - id: large
        type: switch
        conditions:
          - {rule: {">": [{var: add.sum}, 10]}, next: big}
        next: small
      - {id: big, type: transform, transform: {expr: '{"sum": $.add.sum, "size": "big"}'}, next: exit}
      - {id: small, type: transform, transform: {expr: '{"sum": $.add.sum, "size": "small"}'}, next: exit}
      - {id: exit, type: exit}
`;
const REMOTE = `version: "1.0"
server: {name: remote, version: "1"}
mcpServers:
  calc: {command: calc-server}
tools:
  - name: remote
    description: Adds two numbers elsewhere
    inputSchema: {type: object, properties: {a: {type: integer}}}
    nodes:
      - {id: entry, type: entry, next: add}
      - {id: add, type: mcp, server: calc, tool: add, args: {a: {expr: $.entry.a}}, next: exit}
      - {id: exit, type: exit}
`;
const SMALL = { name: "Small", nodes: { start: { type: "start" }, work: { type: "task" }, done: { type: "end", result: "success" } }, edges: [{ from: "start", to: "work" }, { from: "work", to: "done" }] };

prepare((project) => {
  project.write(".flow/workflows/sums.yaml", SUMS);
  project.write(".flow/workflows/remote.yaml", REMOTE);
  project.write(".flow/workflows/small.json", JSON.stringify(SMALL));
});

const runIn = (page) => new URL(page.url()).hash.match(/run\/([a-z0-9]+)/)?.[1];
const said = (page, words) => page.waitForFunction((words) => document.querySelector(".drive-bar [role=status]")?.textContent.includes(words), words);
const outputs = async (run) => {
  const { head } = await studio.ask(`/runs/${run}`);
  return (await studio.ask(`/runs/${run}/at/${head}`)).values[0].value;
};

/** Fills the form in: the numbers, and what `add` answers. */
async function fill(page, { a = 2, b = 40, sum = 42 } = {}) {
  await page.waitForSelector(".try-form");
  await page.waitForSelector(".node");
  await page.getByLabel(/^a/).fill(String(a));
  await page.getByLabel("b", { exact: true }).fill(String(b));
  await page.getByText("Answers that are written here").click();
  await page.getByLabel("add", { exact: true }).fill(JSON.stringify({ sum }));
}

/** Begins a run that is paused before `large`. */
async function begun(wanted = {}) {
  const { run } = await studio.post("/definitions/sums/try", { input: { a: 2, b: 40 }, answers: { add: { sum: 42 } }, breakpoints: ["large"], ...wanted });
  for (;;) {
    const { driven } = await studio.ask(`/runs/${run}`);
    if (driven.before !== null || driven.phase === "finished") return run;
  }
}

inPage("a definition is tried by keyboard: the form, a breakpoint, steps, and on to its end", async (page, complaints) => {
  await page.goto(studio.at("/definition/sums?node=large"));
  await page.waitForSelector(".node.selected");
  await page.locator("[data-graph]").focus();
  await page.keyboard.press("t");
  await fill(page);
  // The breakpoint is set in the drawing, and stands in the form.
  await page.locator(".node", { hasText: "large" }).click();
  await page.locator("[data-graph]").focus();
  await page.keyboard.press("b");
  await page.waitForSelector(".breakpoint >> text=large");
  assert.equal(await page.locator(".node .stop-mark.set").textContent(), "break");
  await soundIn(page, complaints, "the form");
  await page.locator(".try-fields").evaluate((fields) => fields.scrollTo(0, 0));
  await picture(page, "try");
  await page.keyboard.press("Escape");
  await page.getByText("Run it").focus();
  await page.keyboard.press("Enter");
  await said(page, "paused before large");
  await page.waitForSelector(".node.paused .badge:has-text('paused before')");
  await soundIn(page, complaints, "paused");
  await picture(page, "paused");
  await page.keyboard.press("s");
  await said(page, "paused before big");
  await page.keyboard.press("c");
  await said(page, "ended");
  assert.deepEqual((await outputs(runIn(page))).big, { sum: 42, size: "big" });
});

inPage("what is wrong stands at its field, and what the server refuses beside the button", async (page, complaints) => {
  await page.goto(studio.at("/try/remote"));
  await page.waitForSelector(".node");
  await page.getByText("Run it").click();
  const alert = page.locator(".try-foot [role=alert]");
  await alert.waitFor();
  assert.match(await alert.textContent(), /not trusted yet.*portolan trust/s);
  await soundIn(page, complaints, "refused");
  await page.getByText("Answers that are written here").click();
  await page.getByText("Run it").click();
  await page.waitForSelector("text=Write at least one answer down.");
  await page.goto(studio.at("/try/sums"));
  await page.waitForSelector(".node");
  await page.getByText("Run it").click();
  await page.waitForFunction(() => document.activeElement?.closest(".edit-field")?.querySelector(".bad")?.textContent === "This is required.");
  await page.getByLabel(/^a/).fill("2.5");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector("text=This has to be a whole number.");
  // What only the server looks at stands at its field all the same; turned into JSON, the form keeps what was written.
  await page.getByLabel(/^a/).fill("2");
  await page.getByLabel("b", { exact: true }).fill("41");
  await page.keyboard.press("Control+Enter");
  await page.waitForFunction(() => /multiple of 5/.test(document.activeElement?.closest(".edit-field")?.querySelector(".bad")?.textContent ?? ""));
  await page.getByRole("button", { name: "JSON" }).click();
  assert.match(await page.getByLabel("Input, as a JSON object").inputValue(), /"b": 41/);
});

inPage("a run that is paused is stopped: it ends as cancelled", async (page) => {
  const run = await begun();
  await page.goto(studio.at(`/run/${run}`));
  await said(page, "paused before large");
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await said(page, "ended");
  await page.waitForSelector(".work-head :text('cancelled')");
  await page.getByRole("button", { name: "Go on" }).waitFor({ state: "detached" });
});

inPage("breakpoints are set and removed while it is driven", async (page) => {
  const run = await begun();
  await page.goto(studio.at(`/run/${run}`));
  await said(page, "paused before large");
  // By keyboard in the outline, by pointer in the drawing.
  await page.click("role=tab[name=Outline]");
  await page.getByRole("treeitem", { name: /^big/ }).click();
  await page.getByRole("tree").focus();
  await page.keyboard.press("b");
  await page.waitForSelector(".outline-row:has-text('big') .stop-mark");
  await page.locator(".node", { hasText: "large" }).locator(".stop-mark").click();
  await page.waitForFunction(() => document.querySelectorAll(".node .stop-mark.set").length === 1);
  const { driven } = await studio.ask(`/runs/${run}`);
  assert.deepEqual(driven.breakpoints.map((breakpoint) => breakpoint.node ?? breakpoint), ["big"]);
  await page.keyboard.press("c");
  await said(page, "paused before big");
  await page.keyboard.press("o");
  await said(page, "paused before exit");
});

inPage("an earlier run fills the form in, and what was hidden is not taken over", async (page) => {
  const run = await begun({ input: { a: 2, b: 40, key: "sesame" }, breakpoints: [] });
  await page.goto(studio.at(`/run/${run}`));
  await said(page, "ended");
  await page.getByRole("link", { name: "New run with this input" }).waitFor();
  await page.keyboard.press("t");
  await page.waitForSelector(".try-form");
  assert.match(page.url(), new RegExp(`/try/sums\\?from=${run}`));
  await page.waitForSelector(".node");
  assert.ok(!(await page.locator(".try-form").innerHTML()).includes("redacted"));
  assert.equal(await page.getByLabel(/^a/).inputValue(), "2");
  assert.ok(await page.getByLabel("The answers of an earlier run").isChecked());
  await page.getByText("Run it").click();
  await page.waitForFunction((run) => /\/run\//.test(location.hash) && !location.hash.includes(run), run);
  await said(page, "ended");
  assert.deepEqual((await outputs(runIn(page))).big, { sum: 42, size: "big" });
});

inPage("a value is changed while it is paused, and the run takes the other way", async (page, complaints) => {
  const run = await begun();
  await page.goto(studio.at(`/run/${run}`));
  await said(page, "paused before large");
  await page.locator("button:enabled", { hasText: "Change a value" }).waitFor();
  await page.keyboard.press("v");
  await page.getByLabel("Node or variable").selectOption("add");
  await page.getByLabel("Its value from now on, as JSON").fill('{"sum": 3}');
  await soundIn(page, complaints, "a value is changed");
  await page.getByRole("button", { name: "Change it" }).click();
  await page.waitForSelector("dialog", { state: "detached" });
  await page.locator("[data-graph]").focus();
  await page.keyboard.press("c");
  await said(page, "ended");
  assert.deepEqual((await outputs(run)).small, { sum: 3, size: "small" });
});

inPage("a condition holds a run only where it is true, and one that cannot be evaluated is told", async (page, complaints) => {
  const run = await begun({ breakpoints: ["add"] });
  await page.goto(studio.at(`/run/${run}?node=large`));
  await said(page, "paused before add");
  await page.locator("[data-graph]").focus();
  await page.keyboard.press("b");
  await page.getByLabel("Only when").fill("$.add.sum > 100");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".node .stop-mark:has-text('break if')");
  await page.locator("[data-graph]").focus();
  await page.keyboard.press("c");
  await said(page, "ended");
  const other = await begun({ breakpoints: ["add"] });
  await page.goto(studio.at(`/run/${other}?node=large`));
  await said(page, "paused before add");
  await page.locator("[data-graph]").focus();
  await page.keyboard.press("b");
  // What cannot be read is refused; what cannot be evaluated has the run wait.
  await page.getByLabel("Only when").fill("$.add.sum >");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".drive-bar [role=alert]:has-text('cannot be read')");
  await page.getByLabel("Only when").fill('$number("x") > 1');
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => [...document.querySelectorAll(".node .stop-mark.set")].some((mark) => mark.textContent === "break if"));
  await page.locator("[data-graph]").focus();
  await page.keyboard.press("c");
  await said(page, "paused before large");
  await page.waitForSelector(".drive-bar [role=alert]:has-text('cannot be evaluated')");
  await soundIn(page, complaints, "a fault");
});

inPage("a run is run again from a node, with what came before it changed", async (page, complaints) => {
  const run = await begun({ breakpoints: [] });
  await page.goto(studio.at(`/run/${run}?node=large`));
  await said(page, "ended");
  await page.getByRole("button", { name: "Run again from large…" }).click();
  // What the step is made of is there already, with the data of the run.
  const field = page.getByLabel("Value of add, as JSON");
  assert.deepEqual(JSON.parse(await field.inputValue()), { sum: 42 });
  await field.fill('{"sum": ');
  await page.locator("dialog .field-problem .bad", { hasText: "This is not JSON yet" }).waitFor();
  await page.getByRole("button", { name: "Change another value" }).waitFor();
  await soundIn(page, complaints, "what is no JSON");
  await field.fill('{"sum": 3}');
  await soundIn(page, complaints, "the fork");
  await page.getByRole("button", { name: "Create the new run, paused" }).click();
  await page.waitForSelector("text=branched from");
  // It waits, and says for what: the button has the focus.
  await said(page, "ready: press Go on (c)");
  await page.waitForFunction(() => document.activeElement?.textContent === "Go on");
  await page.keyboard.press("Enter");
  await said(page, "ended");
  assert.deepEqual((await outputs(runIn(page))).small, { sum: 3, size: "small" });
});

inPage("a run is run again from a step by its menu, with other data, and goes on at once", async (page, complaints) => {
  const run = await begun({ breakpoints: [] });
  await page.goto(studio.at(`/run/${run}`));
  await said(page, "ended");
  const large = page.locator(".node", { hasText: "large" });
  await large.click({ button: "right" });
  const menu = page.getByRole("menu", { name: "Menu of large" });
  await menu.waitFor();
  await soundIn(page, complaints, "the menu of a step");
  await page.waitForFunction(() => document.activeElement?.textContent.startsWith("Run again from large…"));
  await page.keyboard.press("Escape");
  await menu.waitFor({ state: "detached" });
  // The same by keyboard, and by its key.
  await page.locator("[data-graph]").focus();
  await page.keyboard.press("Shift+F10");
  await menu.waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Run again from “large”" }).waitFor();
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  await page.locator("[data-graph]").focus();
  await page.keyboard.press("r");
  await page.getByLabel("Value of add, as JSON").fill('{"sum": 3}');
  await picture(page, "again");
  await page.getByRole("button", { name: "Run it" }).click();
  await page.waitForFunction((run) => !location.hash.includes(run), run);
  await said(page, "ended");
  assert.deepEqual((await outputs(runIn(page))).small, { sum: 3, size: "small" });
});

inPage("a step that is chosen in a run that is over is shown, where what it came to was", async (page) => {
  const run = await begun({ breakpoints: [] });
  await page.goto(studio.at(`/run/${run}`));
  await said(page, "ended");
  await page.reload();
  await page.getByRole("tab", { name: "Values", selected: true }).waitFor();
  await page.locator(".node", { hasText: "add" }).click();
  await page.getByRole("tab", { name: "Step", selected: true }).waitFor();
  await page.locator("aside[aria-label=Details] h2", { hasText: "add" }).waitFor();
});

inPage("the graph stays where it is when what drives a run has come", async (page) => {
  const run = await begun({ breakpoints: [] });
  await page.goto(studio.at(`/run/${run}`));
  await said(page, "ended");
  let come;
  const late = new Promise((resolve) => (come = resolve));
  await page.route("**/code.js", async (route) => {
    await late;
    await route.fallback();
  });
  await page.reload();
  const graph = page.locator(".graph");
  await page.locator(".node", { hasText: "add" }).waitFor();
  const before = await graph.boundingBox();
  assert.equal(await page.locator(".drive-bar [role=status]").count(), 0);
  come();
  await said(page, "ended");
  assert.deepEqual(await graph.boundingBox(), before);
});

inPage("a step that the run has not come to offers nothing to run again", async (page) => {
  const run = await begun({ breakpoints: [] });
  await page.goto(studio.at(`/run/${run}`));
  await said(page, "ended");
  await page.locator(".node", { hasText: "small" }).click({ button: "right" });
  const item = page.getByRole("menuitem", { name: /Run again from small…/ });
  assert.match(await item.textContent(), /not reached/);
  await item.click({ force: true });
  assert.equal(await page.locator("dialog[open]").count(), 0);
});

inPage("a run that another start of the studio has driven is run again from its page", async (page) => {
  const run = await begun({ breakpoints: [], answers: undefined, input: { a: 2, b: 40 } });
  const other = await project.studio();
  try {
    await page.goto(other.at(`/run/${run}?node=large`));
    await page.locator(".node.selected").waitFor();
    await page.locator("[data-graph]").focus();
    await page.keyboard.press("r");
    await page.getByLabel("Value of add, as JSON").fill('{"sum": 3}');
    await page.keyboard.press("Tab");
    await page.getByRole("button", { name: "Run it" }).click();
    await page.waitForFunction((run) => !location.hash.includes(run), run);
    await said(page, "ended");
    assert.deepEqual((await outputs(runIn(page))).small, { sum: 3, size: "small" });
  } finally {
    await other.kill();
  }
});

inPage("a click beside a dialog in which something was filled in leaves it open", async (page) => {
  const run = await begun({ breakpoints: [] });
  await page.goto(studio.at(`/run/${run}?node=large`));
  await said(page, "ended");
  const fork = page.getByRole("button", { name: "Branch from this record…" });
  // Nothing begins where the run is over; one record before that, it does.
  assert.equal(await fork.getAttribute("aria-disabled"), "true");
  assert.match(await fork.getAttribute("title"), /the run has ended: move the slider to an earlier record/);
  await fork.click({ force: true });
  assert.equal(await page.locator("dialog[open]").count(), 0);
  await page.getByRole("button", { name: "One record back" }).click();
  await fork.and(page.locator("[aria-disabled=false]")).click();
  await page.waitForSelector("dialog[open]");
  await page.mouse.click(4, 4);
  await page.waitForSelector("dialog", { state: "detached" });
  await fork.click();
  await page.getByRole("dialog", { name: /^Branch from record \d+$/ }).waitFor();
  await page.click("dialog >> text=Show all values of");
  await page.locator("dialog textarea").first().waitFor();
  // In a low window, too, all of it can be reached, and what ends it is in view.
  await page.setViewportSize({ width: 1280, height: 480 });
  const [dialog, actions] = await Promise.all([page.locator("dialog").boundingBox(), page.locator("dialog .actions.end").boundingBox()]);
  assert.ok(dialog.y >= 0 && dialog.y + dialog.height <= 480 && actions.y + actions.height <= 480, JSON.stringify({ dialog, actions }));
  await page.mouse.click(4, 4);
  assert.equal(await page.locator("dialog[open]").count(), 1);
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
});

inPage("the answers of an earlier run are copied into the form, and changed by hand", async (page, complaints) => {
  const run = await begun({ breakpoints: [] });
  await page.goto(studio.at("/try/sums"));
  await fill(page, { sum: "" });
  const answer = page.getByLabel("add", { exact: true });
  await answer.fill("");
  // What it looks like is shown before anything is written.
  await page.waitForFunction(() => [...document.querySelectorAll("textarea")].some((field) => field.placeholder.includes('"sum": 42')));
  await page.getByLabel("Copy the answers of run").selectOption(run);
  await page.getByRole("button", { name: "Copy", exact: true }).click();
  await page.waitForSelector(`[role=status]:has-text('1 answer copied from ${run}')`);
  assert.deepEqual(JSON.parse(await answer.inputValue()), { sum: 42 });
  await soundIn(page, complaints, "copied answers");
  await answer.fill('{"sum": 5}');
  await page.getByText("Run it").click();
  await said(page, "ended");
  assert.deepEqual((await outputs(runIn(page))).small, { sum: 5, size: "small" });
});

inPage("what is tried is what is saved, and whoever has changed it may save first", async (page, complaints) => {
  await page.goto(studio.at("/definition/small?node=work"));
  const name = page.locator("[data-form]").getByLabel("Name");
  await page.waitForSelector(".node.selected");
  await page.locator("[data-graph]").focus();
  await page.keyboard.press("Escape");
  await page.getByRole("heading", { name: "Small" }).first().waitFor();
  await name.fill("Smaller");
  await page.keyboard.press("Enter");
  // What it is called now is shown before it is saved.
  await page.locator(".work-head h1", { hasText: "Smaller" }).waitFor();
  const tryIt = page.getByRole("link", { name: "Try it" });
  await tryIt.click();
  await page.waitForSelector("dialog :text('The saved file is tried, not your changes')");
  await soundIn(page, complaints, "tried while unsaved");
  await page.getByRole("button", { name: "Try what is saved" }).click();
  await page.waitForSelector(".try-form :text('those are not saved')");
  await page.getByRole("link", { name: "Go back and save them" }).click();
  await page.getByRole("button", { name: "Take them up again" }).click();
  await page.locator(".work-head h1", { hasText: "Smaller" }).waitFor();
  await tryIt.click();
  await page.getByRole("button", { name: "Save, then try…" }).click();
  await page.waitForSelector("dialog[open] .diff-lines");
  await page.locator("dialog .actions .primary").click();
  await page.waitForSelector(".try-form :text('What is tried is what is saved')");
  assert.match(project.read(".flow/workflows/small.json"), /Smaller/);
});

inPage("finished runs stand before the definitions, with what each was given and since when", async (page, complaints) => {
  for (let a = 1; a <= 6; a += 1) await begun({ breakpoints: [], input: { a, b: 40 } });
  await page.goto(studio.at("/"));
  await page.locator(".entry.definition").first().waitFor();
  const titles = (await page.locator(".list-section > h2").allTextContents()).map((title) => title.replace(/ \d+$/, ""));
  assert.ok(titles.indexOf("Finished runs") < titles.indexOf("Definitions"), String(titles));
  // Many of them do not push the definitions away.
  const rows = page.getByRole("region", { name: "Finished runs" }).locator("a.entry");
  assert.equal(await rows.count(), 5);
  await page.getByRole("button", { name: /^Show all \d+/ }).click();
  const row = rows.filter({ hasText: "a: 1, b: 40" });
  await row.getByText(/just now|\d+ s ago/).waitFor();
  await soundIn(page, complaints, "home");
  await page.locator("[data-search]").fill("a: 1,");
  await page.waitForFunction(() => document.querySelectorAll("a.entry.run").length === 1);
});

inPage("a run is saved as a test that holds", async (page, complaints) => {
  const run = await begun({ breakpoints: [] });
  await page.goto(studio.at(`/run/${run}`));
  await said(page, "ended");
  await page.getByText("Save as a test…").click();
  await page.getByLabel("What the test shows").fill("two numbers are added");
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog pre");
  assert.match(await page.locator("dialog pre").textContent(), /two numbers are added/);
  await soundIn(page, complaints, "a test");
  assert.match(project.says("test", ".flow/workflows"), /two numbers are added/);
});

inPage("a workflow that agents are led through begins with what is wanted", async (page, complaints) => {
  await page.goto(studio.at("/try/small"));
  await page.getByLabel(/^What is wanted/).fill("make it so");
  await soundIn(page, complaints, "led");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector(".badge");
  assert.equal((await studio.ask(`/runs/${runIn(page)}`)).situation.wanted, "make it so");
  assert.equal(await page.locator(".drive-bar").count(), 0);
});

inPage(
  "in the dark, in a small window, nothing is cut off and nothing is lost",
  async (page, complaints) => {
    const run = await begun();
    for (const [route, ready] of [["/try/sums", ".node"], [`/run/${run}`, ".drive-bar [role=status]"]]) {
      await page.goto(studio.at(route));
      await page.waitForSelector(ready);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), route);
      await soundIn(page, complaints, `${route}, dark and small`);
    }
  },
  { colorScheme: "dark", viewport: { width: 720, height: 450 }, reducedMotion: "reduce" },
);

inPage("what becomes of a run is on screen when it is told, and nobody asks again and again", async (page, complaints) => {
  await page.addInitScript(() => {
    window.often = [];
    const plain = window.setInterval;
    window.setInterval = (act, ms, ...more) => {
      if (!(ms >= 5_000)) window.often.push(ms);
      return plain(act, ms, ...more);
    };
  });
  const run = await begun({ breakpoints: [], paused: true });
  await page.goto(studio.at(`/run/${run}`));
  await said(page, "paused before entry");
  // Somebody else tells it to go on, up to a breakpoint; that another is set stands in no record.
  await studio.post(`/runs/${run}/control`, { breakpoints: ["big"], do: "resume" });
  await said(page, "paused before big");
  const { head } = await studio.ask(`/runs/${run}`);
  await studio.post(`/runs/${run}/control`, { breakpoints: ["big", "exit"] });
  await page.waitForFunction(() => document.querySelectorAll(".node .stop-mark.set").length === 2);
  assert.equal((await studio.ask(`/runs/${run}`)).head, head);
  await studio.post(`/runs/${run}/control`, { do: "stop" });
  await said(page, "ended");
  assert.deepEqual(await page.evaluate(() => window.often), []);
  await soundIn(page, complaints, "stopped by somebody else");
});

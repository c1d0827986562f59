// What somebody new comes for, done from home on without a mouse, with the real server. Only keys are pressed: nothing here
// clicks, gives the focus away or fills a field in, and the page itself records whether a pointer was used all the same.
import assert from "node:assert/strict";
import { NIGHTLY } from "./nightly.mjs";
import { inPage, prepare, project, studio } from "./suite.mjs";

const SUMS = `version: "1.0"
server: {name: sums, version: "1"}
tools:
  - name: sum
    description: Adds two numbers, and says how large their sum is
    inputSchema: {type: object, properties: {a: {type: integer}, b: {type: integer}}}
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

prepare((project) => {
  project.example("examples/navigator/release/release.json", "release.json");
  // An agent's word is enough, so that a run comes to the question without a build of its own.
  const believed = JSON.parse(project.read(".flow/workflows/release.json"));
  for (const node of Object.values(believed.nodes)) delete node.accept;
  project.write(".flow/workflows/voyage.json", JSON.stringify({ ...believed, id: "voyage", name: "Voyage" }, null, 2));
  project.write(".flow/workflows/nightly.json", JSON.stringify(NIGHTLY, null, 2));
  project.write(".flow/workflows/sums.yaml", SUMS);
});

/** Whatever a pointer does in the page, and no key: what a key presses is a click, too, but one of no button. */
const POINTER = ["pointerdown", "mousedown", "touchstart", "wheel", "click", "dblclick", "contextmenu"];

async function listen(page) {
  await page.addInitScript((types) => {
    window.pointed = [];
    const note = (event) => event.isTrusted && (event.type !== "click" || event.detail > 0) && window.pointed.push(event.type);
    for (const type of types) addEventListener(type, note, true);
  }, POINTER);
}

const pointed = (page) => page.evaluate(() => window.pointed);

/** A task that is done from home on, without a mouse. */
function byKeys(name, run) {
  inPage(name, async (page) => {
    await listen(page);
    await page.goto(studio.at("/"));
    await page.locator("a.entry.definition").first().waitFor();
    await run(new Keys(page));
    assert.deepEqual(await pointed(page), [], "a pointer was used");
  });
}

/** A person with a keyboard. */
class Keys {
  constructor(page) {
    this.page = page;
  }

  press(...keys) {
    return keys.reduce((before, key) => before.then(() => this.page.keyboard.press(key)), Promise.resolve());
  }

  type(words) {
    return this.page.keyboard.type(words);
  }

  /** Writes in the field that has the focus, over what is there. */
  async write(words) {
    await this.press("Control+a");
    await this.type(words);
  }

  has(wanted) {
    return wanted.evaluate((element) => element === document.activeElement);
  }

  /** Waits until the page itself has given the focus to this. */
  async given(wanted) {
    await wanted.waitFor();
    await this.page.waitForFunction((element) => element === document.activeElement, await wanted.elementHandle());
  }

  /** Presses Tab until this has the focus. A round that comes back to where it began has passed by it. */
  async tabTo(wanted, { back = false } = {}) {
    await wanted.waitFor();
    const passed = [];
    for (let stops = 0; stops < 80; stops += 1) {
      if (await this.has(wanted)) return;
      await this.press(back ? "Shift+Tab" : "Tab");
      passed.push(await this.page.evaluate(() => `${document.activeElement.tagName} ${document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent.slice(0, 30)}`));
    }
    assert.fail(`the Tab key does not come to ${wanted}, but to:\n${passed.join("\n")}`);
  }

  /** Searches at home, and opens what was found. */
  async find(words, name) {
    await this.press("/");
    await this.given(this.page.getByRole("searchbox", { name: "Search definitions and runs" }));
    await this.type(words);
    const row = this.page.locator("a.entry", { hasText: name }).first();
    await row.waitFor();
    for (let rows = 0; rows < 20 && !(await this.has(row)); rows += 1) await this.press("ArrowDown");
    await this.given(row);
    await this.press("Enter");
  }

  /** Walks with an arrow key, from where one is to a step. */
  async walk(...steps) {
    for (const [key, node] of steps) {
      await this.press(key);
      await this.page.waitForFunction((node) => new URLSearchParams(location.hash.split("?")[1]).get("node") === node, node);
    }
  }

  graph() {
    return this.tabTo(this.page.locator("[data-graph]"));
  }

  /** Saves, from the difference that is shown first. */
  async save() {
    await this.press("Control+s");
    const dialog = this.page.getByRole("dialog");
    await dialog.locator(".diff-lines").first().waitFor();
    await this.given(dialog.locator(".actions .primary"));
    await this.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await this.page.locator(".told[role=status]", { hasText: "Saved: " }).waitFor();
  }
}

/** The lines that are others than at the last commit. */
const changed = () =>
  project
    .git("diff", "-U0")
    .split("\n")
    .filter((line) => /^[-+]/.test(line) && !/^(---|\+\+\+) /.test(line));

inPage("a pointer would be noticed", async (page) => {
  await listen(page);
  await page.goto(studio.at("/"));
  await page.locator("a.entry.definition").first().waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  assert.deepEqual(await pointed(page), []);
  await page.mouse.click(700, 500);
  assert.deepEqual(await pointed(page), ["pointerdown", "mousedown", "click"]);
});

byKeys("without a mouse, one finds the keys, and each that the tasks need is told there", async (keys) => {
  await keys.press("?");
  const told = keys.page.locator("dialog[open] .keys dl > div");
  await told.first().waitFor();
  const lines = await told.evaluateAll((lines) => lines.map((line) => [...line.querySelectorAll("kbd")].map((key) => key.textContent).join(" ")));
  for (const key of ["/", "g i", "a", "e", "r", "Ctrl+S", "Enter"]) assert.ok(lines.includes(key), `${key} of ${lines.join(", ")}`);
  await keys.press("Escape");
  await keys.page.locator("dialog").waitFor({ state: "detached" });
});

byKeys("without a mouse, one finds out why a run stopped", async (keys) => {
  const { page } = keys;
  project.says("trust", ".flow/workflows/nightly.json");
  const agent = await project.agent().begin();
  const run = await agent.open("nightly", "Monday");
  for (let nth = 0; nth < 3; nth += 1) await agent.next("passed");
  agent.end();
  assert.equal(agent.told.state, "waiting");
  const row = page.locator("a.entry.run", { hasText: run });
  await row.getByText("Waits for a person's answer").waitFor();
  assert.match(await row.textContent(), /Nightly.*Tests keep failing.*tests did not hold: login: expected 200, got 500/);
  await keys.tabTo(row);
  await keys.press("Enter");
  const why = page.getByRole("region", { name: "Why it stands" });
  // Steps are called by their names once the definition is drawn.
  const show = why.getByRole("button", { name: "Show Test", exact: true });
  await show.waitFor();
  assert.match(await why.textContent(), /Waits for a person's answer.*Tests keep failing.*The tests failed twice. What now\?.*Check tests of Test did not hold.*login: expected 200, got 500/s);
  // It leads to the step with what it printed, and to the question.
  await keys.tabTo(show);
  await keys.press("Enter");
  const details = page.getByRole("complementary", { name: "Details" });
  await details.getByRole("heading", { name: "Test", exact: true }).waitFor();
  await details.getByText("login: expected 200, got 500").first().waitFor();
  await keys.tabTo(why.getByRole("link", { name: "Answer…" }), { back: true });
  await keys.press("Enter");
  const question = page.locator(".question.wanted", { hasText: run });
  await question.waitFor();
  await keys.given(question.getByRole("radio").first());
});

byKeys("without a mouse, one changes the retries of a gate, and saves", async (keys) => {
  const { page } = keys;
  await keys.find("release", /^Release/);
  await page.locator(".work-head h1:text-is('Release')").waitFor();
  await page.locator(".react-flow__node").first().waitFor();
  await keys.graph();
  await keys.walk(["ArrowDown", "start"], ["ArrowDown", "write_notes"], ["ArrowDown", "test"]);
  await keys.press("Enter");
  const form = page.locator("aside[aria-label=Details] [data-form]");
  await keys.given(form.getByLabel("Name", { exact: true }));
  const retries = form.getByLabel("Retries");
  await keys.tabTo(retries);
  assert.equal(await retries.inputValue(), "2");
  await keys.write("5");
  await keys.press("Enter");
  await page.getByRole("button", { name: "Save…" }).waitFor();
  await keys.save();
  assert.deepEqual(changed(), ['-      "maxRetries": 2,', '+      "maxRetries": 5,']);
  project.commit();
});

byKeys("without a mouse, one adds a review between two steps, and saves", async (keys) => {
  const { page } = keys;
  await keys.find("release", /^Release/);
  await page.locator(".work-head h1:text-is('Release')").waitFor();
  await page.locator(".react-flow__node").first().waitFor();
  await keys.graph();
  await keys.walk(["ArrowDown", "start"], ["ArrowDown", "write_notes"]);
  await keys.press("a");
  const dialog = page.getByRole("dialog", { name: "Add a step" });
  await dialog.waitFor();
  await keys.given(dialog.getByLabel(/^Name/));
  await keys.type("Review the notes");
  await keys.tabTo(dialog.getByRole("radio", { checked: true }));
  // The letters of what is wanted choose it.
  await keys.type("gate");
  assert.ok(await dialog.getByRole("radio", { name: "Gate" }).isChecked());
  const where = await dialog.getByLabel("Where").evaluate((where) => where.selectedOptions[0].textContent);
  assert.equal(where, "Between “Write the release notes” and “Test”");
  await dialog.getByText("A failure leads back to “Write the release notes”, at most 3 times; both can be changed afterwards.").waitFor();
  await keys.tabTo(dialog.getByRole("button", { name: "Add", exact: true }));
  await keys.press("Enter");
  await dialog.waitFor({ state: "detached" });
  await page.locator('.react-flow__node[data-id="review_the_notes"]').waitFor();
  await keys.save();
  assert.deepEqual(changed(), [
    '+    "review_the_notes": {',
    '+      "type": "gate",',
    '+      "name": "Review the notes",',
    '+      "maxRetries": 3',
    "+    },",
    '-    { "from": "write_notes", "to": "test" },',
    '+    { "from": "write_notes", "to": "review_the_notes" },',
    '+    { "from": "review_the_notes", "to": "test", "on": "passed" },',
    '+    { "from": "review_the_notes", "to": "write_notes", "on": "failed" },',
  ]);
  project.commit();
});

byKeys("without a mouse, one reruns a graph from its third node with other data", async (keys) => {
  const { page } = keys;
  const { run } = await studio.post("/definitions/sums/try", { input: { a: 2, b: 40 }, answers: { add: { sum: 42 } } });
  const row = page.locator("a.entry.run", { hasText: run });
  await row.getByText("success").waitFor();
  const before = await studio.ask(`/runs/${run}/records`);
  await keys.tabTo(row);
  await keys.press("Enter");
  await page.locator(".work-head :text('success')").waitFor();
  await page.locator(".react-flow__node .badge").first().waitFor();
  await keys.graph();
  await keys.walk(["ArrowDown", "entry"], ["ArrowDown", "add"], ["ArrowDown", "large"]);
  await keys.press("r");
  const dialog = page.getByRole("dialog", { name: "Run again from “large”" });
  const value = dialog.getByLabel("Value of add, as JSON");
  // What the step reads is there to be changed at once.
  await keys.given(value);
  assert.deepEqual(JSON.parse(await value.inputValue()), { sum: 42 });
  await keys.write('{"sum": 3}');
  await keys.tabTo(dialog.getByRole("button", { name: "Create and run it" }));
  await keys.press("Enter");
  await page.waitForFunction((run) => /run\//.test(location.hash) && !location.hash.includes(run), run);
  await page.locator(".work-head :text('success')").waitFor();
  const fork = new URL(page.url()).hash.match(/run\/([a-z0-9]+)/)[1];
  const { head, origin } = await studio.ask(`/runs/${fork}`);
  assert.equal(origin.run, run);
  const { value: values } = (await studio.ask(`/runs/${fork}/at/${head}`)).values[0];
  assert.deepEqual([values.add, values.small, values.big], [{ sum: 3 }, { sum: 3, size: "small" }, undefined]);
  // The page shows it, and the old run is as it was.
  await page.locator("aside[aria-label=Details]").getByText("small").first().waitFor();
  assert.deepEqual(await studio.ask(`/runs/${run}/records`), before);
});

byKeys("without a mouse, one approves a release", async (keys) => {
  const { page } = keys;
  const agent = await project.agent().begin();
  const run = await agent.open("voyage", "version 2");
  await agent.next("passed");
  await agent.next("passed");
  assert.equal(agent.told.state, "waiting");
  await page.locator("a.callout", { hasText: "for a person" }).waitFor();
  await keys.press("g", "i");
  const question = page.locator(".question", { hasText: run });
  await question.waitFor();
  assert.match(await question.textContent(), /Approve the release.*Shall this version be published\?/s);
  // The stop of a group is its first answer; the arrow keys choose, Space chooses the one that has the focus.
  await keys.tabTo(question.getByRole("radio").first());
  await keys.press("Space");
  const chosen = question.getByRole("radio", { checked: true });
  assert.equal(await chosen.inputValue(), "passed");
  await keys.press("Tab");
  await keys.given(question.getByLabel("Note for the agent (optional)"));
  await keys.type("Read, and good.");
  await keys.tabTo(question.getByRole("button", { name: "Answer…" }));
  await keys.press("Enter");
  await keys.tabTo(question.getByRole("button", { name: "Yes, answer" }));
  await keys.press("Enter");
  await question.waitFor({ state: "detached" });
  await page.getByRole("status").filter({ hasText: `Answer recorded: ${run} was answered` }).waitFor();
  // It was a person who answered, and the agent goes on behind it.
  const { records } = await studio.ask(`/runs/${run}/records`);
  assert.equal(records.at(-1).by.is, "person");
  const { position } = await agent.call("Current", { run });
  assert.match(JSON.stringify(position), /tag/);
  agent.end();
});

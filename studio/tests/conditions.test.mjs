// The conditions of edges, in the graph: by keyboard and by mouse, in the formats that have them.
import assert from "node:assert/strict";
import { soundInBoth } from "./browser.mjs";
import { Hands } from "./hands.mjs";
import { inPage, prepare, project, studio } from "./suite.mjs";

prepare((project) => {
  project.example("examples/activities/follow-up.yaml", "follow-up.yaml");
  project.write(
    ".flow/workflows/notes.yaml",
    `id: notes
version: 1.0.0
title: Notes
variables:
  - { name: verdict, type: string, description: What the review came to. }
modes:
  - { id: short, name: In short, activationVariable: brief, defaults: { verdict: good } }
initialActivity: draft
activities:
  # The work itself.
  - id: draft
    name: Draft
    steps:
      - { id: write, kind: step, name: Write it }
      - { id: polish, kind: step, name: Polish it, when: verdict == rework }
      - { id: review, kind: step, name: Review it }
    transitions:
      - to: publish # once it is good
  - id: publish
    name: Publish
    steps: [{ id: send, kind: step, name: Send it }]
`.replace("variables:\n", "variables:\n  - { name: brief, type: boolean, default: false }\n"),
  );
  project.write(
    ".flow/workflows/stock.yaml",
    `version: "1.0"
tools:
  - name: stock
    description: What is there.
    inputSchema: { type: object, properties: { count: { type: integer } } }
    nodes:
      - { id: entry, type: entry, next: many }
      - id: many
        type: switch
        conditions:
          - rule: { var: $.entry.count > 3 } # enough
            next: full
        next: empty
      - { id: full, type: transform, transform: { expr: '"full"' }, next: exit }
      - { id: empty, type: transform, transform: { expr: '"empty"' }, next: exit }
      - { id: exit, type: exit }
`,
  );
});

const changed = () =>
  project
    .git("diff", "-U0")
    .split("\n")
    .filter((line) => /^[-+]/.test(line) && !/^(---|\+\+\+)/.test(line));

inPage("a review by an agent leads back on a condition, by keyboard alone", async (page, said) => {
  const hands = new Hands(page);
  await hands.at("notes", "draft.review");
  await hands.key("c");
  const dialog = page.locator("dialog[open]");
  await dialog.waitFor();
  // What only follows from the text, and what stands in a row, is led to by nothing.
  const names = await dialog.getByRole("option").allTextContents();
  assert.ok(!names.some((name) => /In short|Polish|Write|Begin/.test(name)), names.join());
  await page.keyboard.type("Draft");
  await page.keyboard.press("Enter");
  await dialog.getByLabel(/^When/).waitFor();
  await soundInBoth(page, said, "the condition of a new edge");
  await page.keyboard.type("verdict =");
  await page.keyboard.press("Enter");
  await dialog.getByText("write a comparison with").waitFor();
  await page.keyboard.type("= again");
  await page.keyboard.press("Enter");
  await hands.closed();
  await hands.save();
  assert.deepEqual(changed(), ["+      - to: draft", "+        when: verdict == again"]);
  project.commit();
});

inPage("the condition of an edge is changed in its form, evaluated while it is written, and taken away", async (page, said) => {
  const hands = new Hands(page);
  const condition = page.locator("aside[aria-label=Details]").getByLabel("Condition", { exact: true });
  await hands.at("notes", "draft.review");
  await hands.edge("draft.leave->draft");
  await condition.waitFor();
  assert.equal(await condition.inputValue(), "verdict == again");
  await condition.fill("verdict != good &&");
  await page.locator("aside[aria-label=Details] .evaluated-error").waitFor();
  await condition.fill("verdict != good");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".edge text:text-is('verdict != good')", { state: "attached" });
  await soundInBoth(page, said, "the form of an edge");
  await hands.edge("draft.leave->publish");
  await condition.waitFor();
  assert.equal(await condition.inputValue(), "");
  await condition.fill("verdict == good");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".edge text:text-is('verdict == good')", { state: "attached" });
  // With neither edge open, the first becomes the one for all else.
  await hands.edge("draft.leave->draft");
  await condition.fill("");
  await page.keyboard.press("Tab");
  await page.waitForSelector(".edge text:text-is('verdict != good')", { state: "detached" });
  await hands.save();
  assert.deepEqual(changed(), ["-        when: verdict == again", "+        isDefault: true", "+        when: verdict == good"]);
  project.commit();
});

inPage("a condition of a switch is shown as it is meant, and may be a rule", async (page) => {
  const hands = new Hands(page);
  const condition = page.locator("aside[aria-label=Details]").getByLabel("Condition", { exact: true });
  await hands.at("stock", "many");
  await hands.edge("many->full");
  await condition.waitFor();
  assert.equal(await condition.inputValue(), "$.entry.count > 3");
  await condition.fill('{ ">=": [{ "var": "entry.count" }, 4] }');
  await page.keyboard.press("Enter");
  await hands.save();
  assert.deepEqual(changed(), ["-          - rule: { var: $.entry.count > 3 } # enough", '+          - rule: { ">=": [{ var: entry.count }, 4] } # enough']);
  project.commit();
});

inPage("a checkpoint says where its answers lead before it is added", async (page) => {
  const hands = new Hands(page);
  await hands.at("notes", "draft.write");
  await hands.key("a");
  const dialog = page.locator("dialog[open]");
  await dialog.getByRole("radio", { name: "Checkpoint (a person)" }).check();
  await dialog.getByText("The answer “No” has “Draft” done again").waitFor();
  await dialog.getByLabel(/^Name/).fill("Good enough");
  await page.keyboard.press("Enter");
  await hands.closed();
  await hands.save();
  assert.ok(changed().some((line) => line.includes("transitionTo: draft")), changed().join("\n"));
});

inPage("an activity that is selected has a person asked at its end, and its details name what that leads to", async (page) => {
  const before = project.read(".flow/workflows/notes.yaml");
  const hands = new Hands(page);
  await hands.at("notes", "activity:publish");
  await hands.key("a");
  const dialog = page.locator("dialog[open]");
  await dialog.getByRole("radio", { name: "Checkpoint (a person)" }).check();
  assert.deepEqual(await dialog.getByLabel("Where").getByRole("option").allTextContents(), ["Last in “Publish”", "First in “Publish”"]);
  await dialog.getByText("The answer “No” has “Publish” done again").waitFor();
  await dialog.getByRole("radio", { name: "Activity" }).check();
  assert.deepEqual(await dialog.getByLabel("Where").getByRole("option").allTextContents(), ["After “Publish”", "Unconnected"]);
  await dialog.getByRole("radio", { name: "Checkpoint (a person)" }).check();
  await dialog.getByLabel(/^Name/).fill("Was it sent");
  await page.keyboard.press("Enter");
  await hands.closed();
  const leads = page.locator(".edge-list li");
  await leads.filter({ hasText: "no" }).filter({ hasText: "Publish" }).waitFor();
  await hands.save();
  const { files } = await studio.ask("/definitions/notes");
  assert.match(files[0].text, /id: send.*Was it sent.*transitionTo: publish/);
  project.write(".flow/workflows/notes.yaml", before);
});

inPage("a review by an agent is added, reports and leads back, in one dialog", async (page, said) => {
  project.commit();
  const hands = new Hands(page);
  await hands.at("notes", "draft.polish");
  await hands.key("a");
  const dialog = page.locator("dialog[open]");
  await dialog.getByLabel("Reports").waitFor();
  await soundInBoth(page, said, "what a new step is asked for");
  await page.keyboard.type("Read it again");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.type("verdict, brief");
  await page.keyboard.press("Tab");
  await page.keyboard.type("verdict = rework");
  await page.keyboard.press("Enter");
  // Nothing is added while a part of it is refused.
  await dialog.getByText("write a comparison with").waitFor();
  await dialog.getByLabel(/is done again when/).fill("verdict == rework");
  await page.keyboard.press("Enter");
  await hands.closed();
  await hands.selected("draft.read_it_again");
  await hands.save();
  assert.deepEqual(changed(), [
    "+      - id: read_it_again",
    "+        kind: step",
    "+        name: Read it again",
    "+        outputs:",
    "+          - verdict",
    "+          - brief",
    "+      - to: draft",
    "+        when: verdict == rework",
  ]);
  await page.keyboard.press("Control+z");
  await page.waitForSelector('.react-flow__node[data-id="draft.read_it_again"]', { state: "detached" });
  await hands.save();
  assert.deepEqual(changed(), []);
});

inPage("a review in the last part leads back or ends the work, and is saved with the next key", async (page) => {
  const hands = new Hands(page);
  await hands.at("follow-up", "report.count");
  await hands.key("a");
  await page.locator("dialog[open]").waitFor();
  await page.keyboard.type("Review the count");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.type("verdict");
  await page.keyboard.press("Tab");
  await page.keyboard.type("verdict != good");
  // The dialog may still be there when the next key is pressed.
  await page.keyboard.press("Enter");
  await page.keyboard.press("Control+s");
  const save = page.getByRole("dialog", { name: "Save these changes?" });
  await save.waitFor();
  assert.equal(await save.getByText(/more problem/).count(), 0);
  await page.keyboard.press("Enter");
  await hands.closed();
  const { problems } = await studio.ask("/definitions/follow-up");
  assert.deepEqual(problems.map(({ code }) => code), ["answers-itself"]);
  assert.deepEqual(changed(), [
    "+  - name: verdict",
    "+    type: string",
    "+      - id: review_the_count",
    "+        kind: step",
    "+        name: Review the count",
    "+        outputs:",
    "+          - verdict",
    "+    decisions:",
    "+      - id: next",
    "+        name: What follows",
    "+        branches:",
    "+          - id: again",
    "+            label: Again",
    "+            when: verdict != good",
    "+            transitionTo: report",
    "+          - id: finished",
    "+            label: Finished",
    "+            isDefault: true",
  ]);
});

inPage("what a change breaks is told before it is saved", async (page) => {
  project.commit();
  const hands = new Hands(page);
  await hands.at("follow-up", "file.issue");
  await hands.fill("Only when", "nobody == knows");
  await hands.key("Control+s");
  const save = page.getByRole("dialog", { name: "Save these changes?" });
  await save.getByText("With these changes it has 1 more problem:").waitFor();
  await save.getByText("there is no variable `nobody`".replaceAll("`", "")).waitFor();
  await page.keyboard.press("Escape");
  await hands.closed();
  await hands.key("Control+z");
});

inPage("what is typed while a dialog still loads leads nowhere", async (page) => {
  let send;
  const held = new Promise((done) => (send = done));
  await page.route("**/code.js", (route) => held.then(() => route.continue()));
  await page.goto(studio.at("/definition/notes?node=draft.polish"));
  await page.locator("[data-graph] .node").first().waitFor();
  await page.locator("[data-graph]").focus();
  // As in the first moments of the page: no `g` was pressed before.
  await page.evaluate(() => {
    const early = new KeyboardEvent("keydown", { key: "i", bubbles: true });
    Object.defineProperty(early, "timeStamp", { value: 100 });
    document.querySelector("[data-graph]").dispatchEvent(early);
  });
  await page.keyboard.press("a");
  await page.keyboard.type("i gi / gh");
  send();
  await page.locator("dialog[open]").waitFor();
  assert.match(page.url(), /definition\/notes/);
});

inPage("what is typed right after a key is in the dialog, also in the first one", async (page) => {
  const hands = new Hands(page);
  await hands.at("notes", "draft.polish");
  // The part of the page that has the dialogs is there once the source is.
  await page.waitForFunction(() => document.querySelector(".code-host")?.shadowRoot?.textContent.includes("polish"));
  await hands.key("a");
  await page.keyboard.type("Mend it");
  const dialog = page.locator("dialog[open]");
  assert.equal(await dialog.getByLabel(/^Name/).inputValue(), "Mend it");
  await page.keyboard.press("Escape");
  await hands.closed();
});

inPage("a loop around a step asks what it goes through", async (page, said) => {
  const hands = new Hands(page);
  await hands.at("notes", "draft.polish");
  await hands.key("w");
  const dialog = page.locator("dialog[open]");
  await dialog.getByLabel("Over").waitFor();
  await soundInBoth(page, said, "what a loop is asked for");
  await page.keyboard.type("parts");
  await page.keyboard.press("Enter");
  await hands.closed();
  await hands.selected("draft.loop");
  await hands.save();
  assert.ok(changed().includes("+        over: parts"), changed().join("\n"));
  await page.keyboard.press("Control+z");
  await page.waitForSelector('.react-flow__node[data-id="draft.loop"]', { state: "detached" });
  await hands.save();
  assert.deepEqual(changed(), []);
});

inPage("what goes with an activity is named before it is deleted, at its first node, too; home and the form count alike", async (page) => {
  const hands = new Hands(page);
  const details = page.locator("aside[aria-label=Details]");
  await hands.at("notes", "draft");
  await details.getByRole("heading", { name: "Draft", exact: true }).waitFor();
  await hands.key("Delete");
  const dialog = page.locator("dialog[open]");
  await dialog.getByText("Delete “Draft” with 4 steps?").waitFor();
  await dialog.getByText("“Write it”, “Good enough”, “Polish it”, “Review it”").waitFor();
  await page.keyboard.press("Escape");
  await hands.closed();
  await page.goto(studio.at("/definition/notes"));
  const count = (await details.locator(".facts-head .dim").first().textContent()).match(/\d+ steps/)[0];
  await page.goto(studio.at("/"));
  await page.locator("a.entry.definition", { hasText: "Notes" }).getByText(count, { exact: true }).waitFor();
});

inPage("the answers of a checkpoint are rows, and what no cell shows stays", async (page, said) => {
  const hands = new Hands(page);
  await hands.at("notes", "draft.good_enough");
  const answers = page.locator('fieldset[data-path="options"]');
  const row = (nth) => answers.getByRole("group", { name: `Answers, ${nth}`, exact: true });
  assert.equal(await row(2).getByLabel("Leads to").inputValue(), "draft");
  await row(2).getByLabel("Answer", { exact: true }).fill("Not yet");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".code-host")?.shadowRoot?.textContent.includes("Not yet"));
  await answers.getByRole("button", { name: "Add to answers" }).click();
  await row(3).getByLabel("Id").fill("later");
  await page.keyboard.press("Tab");
  await row(3).getByLabel("Answer", { exact: true }).fill("Later");
  await page.keyboard.press("Tab");
  await row(3).getByLabel("Leads to").fill("publish");
  await page.keyboard.press("Tab");
  await page.waitForSelector('[data-edge="draft.good_enough->publish"]', { state: "attached" });
  await soundInBoth(page, said, "answers as rows");
  await answers.getByRole("button", { name: "Remove yes" }).click();
  await row(3).waitFor({ state: "detached" });
  await hands.key("Control+z");
  await row(3).waitFor();
  await hands.save();
  const lines = changed();
  assert.deepEqual(lines.filter((line) => line.startsWith("-")), ['-            label: "No"']);
  for (const text of ["label: Not yet", "id: later", "label: Later", "transitionTo: publish"]) assert.ok(lines.some((line) => line.startsWith("+") && line.includes(text)), lines.join("\n"));
});

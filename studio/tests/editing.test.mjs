// Definitions of every format are edited in a real browser, by mouse and by keyboard, and exactly the lines of the edits change.
import assert from "node:assert/strict";
import { soundIn } from "./browser.mjs";
import { Hands } from "./hands.mjs";
import { inPage, prepare, project, studio } from "./suite.mjs";

prepare((project) => {
  project.example("examples/navigator/release/release.json", "release.json");
  project.example("examples/activities/work-package", "work-package");
  project.example("examples/activities/follow-up.yaml", "follow-up.yaml");
  project.example("examples/tool-graphs/inventory.yaml", "inventory.yaml");
  project.example("examples/agent-states/research", "research");
  project.example("crates/portolan-runtime/catalog/phases/delivery.yaml", "delivery.yaml");
});

/** The lines that are others than at the last commit, file by file. */
function changed(...since) {
  const lines = project.git("diff", "-U0", "--no-renames", ...since).split("\n");
  return lines.filter((line) => /^[-+]/.test(line) && !line.startsWith("---")).map((line) => line.replace(/^\+\+\+ b\/.flow\/workflows\//, "in "));
}

/** Does something on a page of its own, and looks at what was written. */
function edits(name, run, expected) {
  inPage(name, async (page) => {
    await run(new Hands(page));
    assert.deepEqual(changed(), expected);
    project.commit();
  });
}

edits(
  "a graph for agents, with the mouse alone",
  async (hands) => {
    await hands.at("release", "repair");
    await hands.drag("repair", "write_notes");
    await hands.page.locator("dialog").getByRole("option", { name: "failed" }).click();
    await hands.closed();
    await hands.edge("stuck->repair");
    await hands.page.locator("aside[aria-label=Details]").getByRole("button", { name: "Delete" }).click();
    await hands.page.waitForFunction(() => document.querySelector('[data-edge="stuck->repair"]') === null);
    await hands.page.getByRole("button", { name: "Save…" }).click();
    await hands.page.locator("dialog .actions .primary").click();
    await hands.closed();
  },
  [
    "in release.json",
    '-    { "from": "stuck", "to": "repair", "on": "passed", "label": "The obstacle is gone" },',
    '+    { "from": "repair", "to": "write_notes", "on": "failed" },',
  ],
);

edits(
  "a review between two steps: called by its title, with a label on the edge that leaves it, and renamed",
  async (hands) => {
    const details = hands.page.locator("aside[aria-label=Details]");
    await hands.at("release", "write_notes");
    await hands.add("Gate", "", "review_the_notes", "Review the notes");
    // It stands between the two, and its form is what comes next.
    await hands.page.waitForFunction(() => document.activeElement?.closest("[data-form]"));
    assert.equal(await details.getByLabel("Retries").inputValue(), "3");
    assert.equal(await details.locator("[data-form] label").nth(1).textContent(), "Retries");
    await hands.key("e");
    await details.getByLabel("Label").fill("The notes are good");
    await hands.page.keyboard.press("Enter");
    await hands.page.waitForSelector(".edge text:text-is('The notes are good')", { state: "attached" });
    await hands.click("review_the_notes");
    await hands.key("F2");
    await hands.page.locator("dialog").getByLabel(/^Name/).fill("Review the release notes");
    await hands.page.keyboard.press("Enter");
    await hands.closed();
    await details.getByRole("heading", { name: "Review the release notes" }).waitFor();
    await hands.save();
  },
  [
    "in release.json",
    '+    "review_the_notes": {',
    '+      "type": "gate",',
    '+      "name": "Review the release notes",',
    '+      "maxRetries": 3',
    '+    },',
    '-    { "from": "write_notes", "to": "test" },',
    '+    { "from": "write_notes", "to": "review_the_notes" },',
    '+    { "from": "review_the_notes", "to": "test", "on": "passed", "label": "The notes are good" },',
    '+    { "from": "review_the_notes", "to": "write_notes", "on": "failed" },',
  ],
);

inPage("a problem names the step and the field as people do, and leads to the line and to the field", async (page, said) => {
  const hands = new Hands(page);
  await hands.at("release", "test");
  await hands.page.locator("[data-form]").getByLabel("Retries").fill("-2");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: /problem/ }).click();
  const problem = page.locator(".problems button", { hasText: "Test test: Retries maxRetries" }).first();
  await problem.waitFor();
  await soundIn(page, said, "a problem");
  await hands.key("Escape");
  await problem.click();
  await hands.selected("test");
  await page.waitForFunction(() => document.activeElement?.getAttribute("data-path") === "maxRetries");
  await page.waitForFunction(() => /"maxRetries": -2/.test(document.querySelector(".code-host")?.shadowRoot?.querySelector(".cm-activeLine")?.textContent ?? ""));
});

inPage("what was saved and undone is told, and the focus stays where it is of use", async (page, said) => {
  const hands = new Hands(page);
  const told = (words) => page.waitForFunction((words) => document.querySelector(".told[role=status]")?.textContent.includes(words), words);
  const focused = (wanted) => page.waitForFunction((wanted) => document.activeElement?.matches(wanted), wanted);
  await hands.at("release", "repair");
  const agent = page.locator("[data-form]").getByLabel("Agent", { exact: true });
  const before = await agent.inputValue();
  // Escape takes back what is typed, and Ctrl+Z brings that again, rather than undoing something else.
  await agent.fill("bob");
  await page.keyboard.press("Escape");
  assert.equal(await agent.inputValue(), before);
  await page.keyboard.press("Control+z");
  assert.equal(await agent.inputValue(), "bob");
  await page.keyboard.press("Control+s");
  await page.waitForSelector("dialog[open] .diff-lines");
  await page.keyboard.press("Enter");
  await told("Saved: .flow/workflows/release.json. It applies to runs that begin from now on.");
  await focused('[data-path="agent"]');
  await soundIn(page, said, "saved");
  // A second Escape leads back to the graph; what is undone there is shown, though it was saved.
  await page.keyboard.press("Escape");
  await focused("[data-graph]");
  await page.keyboard.press("Control+z");
  await told("Undone: line");
  await told("It is not saved like this.");
  await page.waitForFunction((before) => document.querySelector('[data-path="agent"]').value === before, before);
  // The button with which it is undone is of no use any more.
  await page.getByRole("button", { name: "Redo" }).click();
  await told("Done again: line");
  await focused("[data-graph]");
  await page.keyboard.press("Control+z");
  await page.getByRole("button", { name: "Save…" }).click();
  await page.locator("dialog .actions .primary").click();
  await told("Saved:");
  await focused("[data-graph]");
});

inPage("changes that were kept are resumed, and that is told", async (page) => {
  const hands = new Hands(page);
  await hands.at("release", "repair");
  await hands.fill("Agent", "carol");
  await page.waitForFunction(() => Object.keys(sessionStorage).some((key) => key.startsWith("portolan-unsaved")));
  await page.getByRole("link", { name: "Project" }).click();
  await page.getByRole("button", { name: "Leave" }).click();
  await page.waitForSelector(".project-facts");
  await page.evaluate(() => (location.hash = "#/definition/release?node=repair"));
  await page.getByRole("button", { name: "Take them up again" }).click();
  await page.waitForFunction(() => document.querySelector(".told")?.textContent.includes("here again"));
  await page.waitForFunction(() => document.activeElement?.matches("[data-graph]"));
});

inPage("a step is put into a loop, and one is moved to another activity, by keyboard", async (page) => {
  const hands = new Hands(page);
  const written = (text) => page.waitForFunction((text) => document.querySelector(".code-host")?.shadowRoot?.textContent.includes(text), text);
  await hands.at("follow-up", "report.count");
  await hands.key("w");
  await page.waitForSelector("dialog[open]");
  await page.keyboard.press("Enter");
  await hands.selected("report.loop");
  await written("- id: loop");
  await hands.key("Control+z");
  await page.locator("aside[aria-label=Outline]").getByText("File an issue: {leftover}").click();
  await hands.selected("file.issue");
  await hands.key("m");
  await page.waitForSelector("dialog[open]");
  await page.keyboard.type("Count");
  await page.keyboard.press("Enter");
  await hands.selected("report.issue");
  await hands.closed();
  await written("- id: issue");
});

inPage("an activity comes and goes as a file of its own, and undo goes back over both", async (page, said) => {
  const hands = new Hands(page);
  const tabs = () => page.locator(".files button").allTextContents();
  const status = () => project.git("status", "--short", "--untracked-files=all").split("\n").filter(Boolean).map((line) => line.replace(".flow/workflows/", ""));
  await hands.at("work-package", "merge");
  await hands.add("Activity", "debrief");
  await hands.fill("Name", "Look back");
  await hands.add("Step", "ask", "debrief.ask");
  assert.ok((await tabs()).at(-1).startsWith("activities/14-debrief.yaml"), (await tabs()).join());
  await page.evaluate(() => (location.hash = "#/definition/work-package?node=document"));
  await page.waitForFunction(() => document.querySelector('aside[aria-label=Details] [data-path="name"]')?.value === "Document");
  await hands.remove();
  await page.waitForFunction(() => ![...document.querySelectorAll(".files button")].some((button) => button.textContent.includes("08-document")));
  // Back over both, and forward again: one history for all files.
  for (let i = 0; i < 4; i++) await hands.key("Control+z");
  await page.waitForFunction(() => document.querySelectorAll(".files button").length === 14);
  assert.equal(await page.getByRole("button", { name: "Save…" }).count(), 0);
  for (let i = 0; i < 4; i++) await hands.key("Control+Shift+z");
  await page.waitForFunction(() => [...document.querySelectorAll(".files button")].at(-1).textContent.includes("14-debrief"));
  await hands.key("Control+s");
  await page.waitForSelector("dialog[open] .diff-lines");
  const heads = await page.locator("dialog h3").allTextContents();
  assert.deepEqual(heads.map((head) => head.replace(".flow/workflows/work-package/", "").replace("  ", " ")), [
    "activities/04-plan.yaml 1 line added, 1 line removed",
    "activities/07-validate.yaml 0 lines added, 1 line removed",
    "activities/08-document.yaml file removed 0 lines added, 14 lines removed",
    "activities/12-merge.yaml 1 line added, 1 line removed",
    "activities/14-debrief.yaml new file 7 lines added, 0 lines removed",
  ]);
  await soundIn(page, said, "files come and go");
  await page.locator("dialog .actions .primary").click();
  await hands.closed();
  await page.waitForFunction(() => document.querySelector(".told")?.textContent.includes("14-debrief.yaml"));
  assert.deepEqual(status(), [
    " M work-package/activities/04-plan.yaml",
    " M work-package/activities/07-validate.yaml",
    " D work-package/activities/08-document.yaml",
    " M work-package/activities/12-merge.yaml",
    "?? work-package/activities/14-debrief.yaml",
  ]);
  project.git("add", "-A");
  const document = project.git("show", "HEAD:.flow/workflows/work-package/activities/08-document.yaml").trimEnd().split("\n");
  assert.deepEqual(changed("HEAD"), [
    "in work-package/activities/04-plan.yaml",
    '-      - { id: no-docs, label: "Approved, without documentation", effect: { skipActivities: [document] } }',
    '+      - { id: no-docs, label: "Approved, without documentation" }',
    "in work-package/activities/07-validate.yaml",
    "-  - { to: document, when: public_api }",
    "+++ /dev/null",
    ...document.map((line) => `-${line}`),
    "in work-package/activities/12-merge.yaml",
    "-  - { to: close }",
    "+  - { to: debrief }",
    "in work-package/activities/14-debrief.yaml",
    "+id: debrief",
    "+transitions:",
    "+  - to: close",
    "+name: Look back",
    "+steps:",
    "+  - id: ask",
    "+    kind: step",
  ]);
  // What is saved is undone all the same, and saved again: everything is as it was.
  for (let i = 0; i < 4; i++) await hands.key("Control+z");
  await hands.save();
  await page.waitForFunction(() => document.querySelector(".told")?.textContent.includes("08-document.yaml"));
  project.git("add", "-A");
  assert.deepEqual(status(), []);
});

/** Whether every step of the drawing is within its pane. */
const isWhole = () => {
  const pane = document.querySelector(".pane.middle")?.getBoundingClientRect();
  const nodes = [...document.querySelectorAll(".react-flow__node")].map((node) => node.getBoundingClientRect());
  return pane && nodes.length > 5 && nodes.every((node) => node.left >= pane.left && node.right <= pane.right && node.top >= pane.top && node.bottom <= pane.bottom);
};

inPage(
  "in a small window the graph is fitted to its pane, and again when the window changes",
  async (page, said) => {
    await page.goto(studio.at("/definition/inventory"));
    await page.waitForFunction(isWhole);
    await page.setViewportSize({ width: 1440, height: 760 });
    await page.waitForFunction(isWhole);
    await page.setViewportSize({ width: 1024, height: 700 });
    await page.waitForFunction(isWhole);
    await soundIn(page, said, "a small window");
  },
  { viewport: { width: 1024, height: 700 } },
);

inPage(
  "at 200 % zoom the form stands below the graph, the wheel scrolls the page, and the keys can be read to their end",
  async (page) => {
    const hands = new Hands(page);
    await hands.at("release", "test");
    const [graph, form, outline] = await Promise.all([".pane.middle", ".pane.right", ".pane.left"].map((pane) => page.locator(pane).boundingBox()));
    assert.ok(Math.abs(form.y - (graph.y + graph.height)) < 4 && outline.y > form.y);
    await page.mouse.move(graph.x + 200, graph.y + 100);
    await page.mouse.wheel(0, 120);
    await page.waitForFunction(() => document.querySelector("main").scrollTop >= 100);
    await hands.key("?");
    await page.waitForFunction(() => document.activeElement?.matches(".keys"));
    await page.keyboard.press("End");
    await page.waitForFunction(() => {
      const box = [...document.querySelectorAll(".keys dd")].at(-1).getBoundingClientRect();
      return box.bottom <= innerHeight && document.querySelector("dialog header").getBoundingClientRect().top >= 0;
    });
  },
  { viewport: { width: 720, height: 450 } },
);

inPage("the chooser has what is called exactly so first, and steps are found with the arrow keys", async (page, said) => {
  const hands = new Hands(page);
  await hands.at("release", "repair");
  await hands.key("k");
  await page.getByLabel("Kind").fill("end");
  assert.equal(await page.locator("dialog [role=option]").first().locator(".choice-label").textContent(), "End");
  await soundIn(page, said, "the chooser");
  await page.keyboard.press("Escape");
  await hands.closed();
  await page.getByLabel("Find a step").fill("release");
  await page.keyboard.press("ArrowDown");
  await hands.selected("write_notes");
  await page.keyboard.press("ArrowDown");
  await hands.selected("review_the_notes");
  assert.equal(await page.getByLabel("Find a step").inputValue(), "release");
});

edits(
  "a graph of tool calls",
  async (hands) => {
    await hands.at("inventory", "list");
    await hands.click("sizes");
    await hands.rename("measured");
    await hands.click("no_folder");
    await hands.fill("Name", "No such folder");
    await hands.click("list");
    await hands.add("Transform", "transform");
    await hands.save();
  },
  [
    "in inventory.yaml",
    "-        next: sizes",
    "+        next: transform",
    "+",
    "+      - id: transform",
    "+        type: transform",
    "+        transform:",
    '+          expr: "{}"',
    "+        next: measured",
    "-      - id: sizes",
    "+      - id: measured",
    '-            { "files": $count($.sizes), "bytes": $sum($.sizes.bytes), "largest": [$.sizes^(>bytes).path[[0..2]]] }',
    '+            { "files": $count($.measured), "bytes": $sum($.measured.bytes), "largest": [$.measured^(>bytes).path[[0..2]]] }',
    "+        name: No such folder",
  ],
);

edits(
  "states of a model",
  async (hands) => {
    await hands.at("research", "write");
    await hands.rename("article");
    await hands.add("Question", "ask");
    await hands.save();
  },
  ["in research/workflow.yaml", "-  write:", "+  article:", "+  ask:", '+    ask: ""', "-transitions: { research: write }", "+transitions: { research: article, article: ask }"],
);

edits(
  "phases",
  async (hands) => {
    await hands.at("delivery", "scope");
    await hands.rename("bounds");
    await hands.add("Phase", "phase");
    await hands.fill("Prompt", "Look at it once more.");
    await hands.click("idle");
    await hands.remove();
    await hands.save();
  },
  [
    "in delivery.yaml",
    "-  - id: idle",
    "-    title: Idle",
    "-    prompt: Nothing is to be done before a task is chosen.",
    "-  - id: scope",
    "+  - id: bounds",
    "+  - id: phase",
    "+    prompt: Look at it once more.",
  ],
);

edits(
  "activities in one file",
  async (hands) => {
    await hands.at("follow-up", "file.collect");
    await hands.rename("gather", "file.gather");
    await hands.add("Step", "step", "file.step");
    await hands.save();
  },
  [
    "in follow-up.yaml",
    '-      - { id: collect, kind: step, name: "Look through the notes on {ticket}", outputs: [leftovers] }',
    '+      - { id: gather, kind: step, name: "Look through the notes on {ticket}", outputs: [leftovers] }',
    "+      - id: step",
    "+        kind: step",
  ],
);

edits(
  "activities in files of their own",
  async (hands) => {
    await hands.at("work-package", "intake.project");
    await hands.fill("Name", "Say which project it is");
    await hands.page.locator('.react-flow__node[data-id="intake.project"]', { hasText: "Say which project it is" }).waitFor();
    await hands.click("intake.read");
    await hands.remove();
    await hands.page.locator("aside[aria-label=Outline]").getByText("Understand", { exact: true }).click();
    await hands.selected("activity:understand");
    await hands.rename("comprehend");
    await hands.save();
  },
  [
    "in work-package/activities/01-intake.yaml",
    "-    name: Jira project",
    "+    name: Say which project it is",
    "-  - id: read",
    "-    kind: step",
    "-    name: Read {ticket}",
    "-    description: Read the ticket in {issue_platform} with all of its comments.",
    "-    effectivities: [issue-tracker]",
    "-  - { to: understand }",
    "+  - { to: comprehend }",
    "in work-package/activities/02-understand.yaml",
    "-id: understand",
    "+id: comprehend",
    "in work-package/activities/03-design.yaml",
    "-          - { id: no, label: It is not, effect: { transitionTo: understand } }",
    "+          - { id: no, label: It is not, effect: { transitionTo: comprehend } }",
    "in work-package/activities/04-plan.yaml",
    "-      - { id: revise, label: Understand it better first, effect: { transitionTo: understand } }",
    "+      - { id: revise, label: Understand it better first, effect: { transitionTo: comprehend } }",
  ],
);

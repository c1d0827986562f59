// The text of a definition as the document: what is typed shows in the graph, and what cannot be read leaves the last graph.
import assert from "node:assert/strict";
import { inPage, prepare, project, studio } from "./suite.mjs";

const SUMS = `version: "1.0"
server: { name: sums, version: "1" }
tools:
  - name: sums
    description: Adds two numbers.
    inputSchema: { type: object, properties: { a: { type: number } } }
    outputSchema: { type: object }
    nodes:
      - { id: entry, type: entry, next: add }
      - id: add
        type: transform
        transform: { expr: $.entry.a + 1 }
        next: exit
      - { id: exit, type: exit }
`;

prepare((project) => {
  project.example("examples/navigator/release/release.json", "release.json");
  project.write(".flow/workflows/sums.yaml", SUMS);
});

/** The editor's text, with the cursor behind the first place where this stands. */
async function behind(page, text) {
  await page.waitForFunction((text) => document.querySelector(".code-host")?.shadowRoot?.textContent.includes(text), text);
  await page.locator(".code-host").getByText(text).first().click();
  await page.keyboard.press("End");
}
const stale = (page) => page.waitForSelector(".pane.middle.stale");

for (const [id, node, line, typed, shown] of [
  ["release", "tag", '"Tag the release"', "", "Mark the release"],
  ["sums", "add", "- { id: exit, type: exit }", "\n      - { id: more, type: transform, transform: { expr: '1' }, next: exit }", "more"],
]) {
  inPage(`what is typed into the source of ${id} is in the graph, and undone from there`, async (page) => {
    await page.goto(studio.at(`/definition/${id}?node=${node}`));
    await page.waitForSelector(".node.selected");
    await behind(page, line);
    if (typed === "") {
      // The value is replaced, from its end.
      await page.keyboard.press("ArrowLeft");
      await page.keyboard.press("ArrowLeft");
      for (let nth = 0; nth < "Tag the release".length; nth += 1) await page.keyboard.press("Backspace");
      await page.keyboard.type(shown);
    } else await page.keyboard.insertText(typed);
    await page.waitForFunction((shown) => [...document.querySelectorAll(".node .name")].some((name) => name.textContent === shown), shown);
    await page.locator("[data-graph]").focus();
    const undo = page.getByRole("button", { name: "Undo" });
    while (await undo.isEnabled()) await page.keyboard.press("Control+z");
    await page.waitForFunction((shown) => ![...document.querySelectorAll(".node .name")].some((name) => name.textContent === shown), shown);
    await page.getByRole("button", { name: "Saved" }).waitFor();
  });
}

for (const [id, node, line, wrong] of [["release", "test", '"maxRetries": 2', " !"], ["sums", "add", "type: transform", "\n bad: ["]]) {
  inPage(`a text of ${id} that cannot be read leaves the last graph, greyed, with the place of the error`, async (page, said) => {
    await page.goto(studio.at(`/definition/${id}?node=${node}`));
    await page.waitForSelector(".node.selected");
    const before = await page.locator(".node").count();
    await behind(page, line);
    await page.keyboard.insertText(wrong);
    await stale(page);
    assert.equal(await page.locator(".node").count(), before);
    assert.match(await page.locator(".over-graph").textContent(), /line \d+/);
    await page.waitForFunction(() => document.querySelector(".code-host").shadowRoot.querySelector(".cm-lintRange-error, .cm-lintPoint-error, .cm-lint-marker-error"));
    await page.keyboard.press("Control+z");
    await page.waitForSelector(".pane.middle:not(.stale)");
    assert.deepEqual(said, []);
  });
}

inPage("before a step is deleted, the edges that go with it are named", async (page) => {
  await page.goto(studio.at("/definition/release?node=repair"));
  await page.waitForSelector(".node.selected");
  await page.locator("[data-graph]").focus();
  await page.keyboard.press("Delete");
  await page.waitForSelector("dialog[open] .edge-names");
  const named = (await page.locator("dialog .edge-names li").allTextContents()).map((text) => text.replace(/\s+/g, " ").trim()).sort();
  assert.deepEqual(named, ["Repair → Test", "Test → Repair failed", "Tests keep failing → Repair passed"]);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Saved" }).waitFor();
});

inPage("a definition that is written here is not trusted by that", async (page) => {
  await page.goto(studio.at("/definition/sums?node=add"));
  await page.waitForSelector("[data-form]");
  const before = project.says("trust", "list");
  await page.locator("[data-form]").getByLabel("Description").fill("Adds one.");
  await page.keyboard.press("Control+s");
  await page.waitForSelector("dialog[open] .diff-lines");
  await page.locator("dialog .actions .primary").click();
  await page.getByRole("button", { name: "Saved" }).waitFor();
  assert.match(project.read(".flow/workflows/sums.yaml"), /Adds one\./);
  assert.equal(project.says("trust", "list"), before);
});

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

inPage("what is typed into the source is in the graph, and undone from there", async (page) => {
  await page.goto(studio.at("/definition/sums?node=add"));
  await page.waitForSelector(".node.selected");
  await behind(page, "- { id: exit, type: exit }");
  await page.keyboard.insertText("\n      - { id: more, type: transform, transform: { expr: '1' }, next: exit }");
  const more = page.locator(".node .name:text-is('more')");
  await more.waitFor();
  await page.locator("[data-graph]").focus();
  await page.keyboard.press("Control+z");
  await more.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Saved" }).waitFor();
});

inPage("a text that cannot be read leaves the last graph, greyed, with the place of the error", async (page) => {
  await page.goto(studio.at("/definition/sums?node=add"));
  await page.waitForSelector(".node.selected");
  const before = await page.locator(".node").count();
  await behind(page, "type: transform");
  await page.keyboard.insertText("\n bad: [");
  await page.waitForSelector(".pane.middle.stale");
  assert.equal(await page.locator(".node").count(), before);
  assert.match(await page.locator(".over-graph").textContent(), /line \d+/);
  await page.keyboard.press("Control+z");
  await page.waitForSelector(".pane.middle:not(.stale)");
});

inPage("a click anywhere in the text of a step selects it", async (page) => {
  await page.goto(studio.at("/definition/release"));
  await page.waitForFunction(() => document.querySelector(".code-host")?.shadowRoot?.querySelectorAll(".cm-line").length > 10);
  await page.locator(".code-host").getByText('"agent"').first().click();
  await page.waitForFunction(() => location.hash.endsWith("node=write_notes"));
});

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

inPage("a definition that is written here is not trusted by that, even if it was before", async (page) => {
  const untrusted = async () => {
    const agent = await project.agent().begin();
    const run = await agent.open("release", "release it");
    agent.end();
    return (await studio.ask(`/runs/${run}`)).untrusted;
  };
  assert.ok(await untrusted());
  project.says("trust", ".flow/workflows/release.json");
  assert.equal(await untrusted(), null);
  await page.goto(studio.at("/definition/release?node=test"));
  await page.waitForFunction(() => document.querySelector(".code-host")?.shadowRoot?.textContent.includes('"cargo"'));
  // A double click selects the word.
  await page.locator(".code-host").getByText('"cargo"').first().dblclick();
  await page.keyboard.type("make");
  await page.waitForFunction(() => document.querySelector(".code-host").shadowRoot.textContent.includes('"make"'));
  await page.keyboard.press("Control+s");
  await page.waitForSelector("dialog[open] .diff-lines");
  await page.locator("dialog .actions .primary").click();
  await page.getByRole("button", { name: "Saved" }).waitFor();
  assert.match(project.read(".flow/workflows/release.json"), /"make", ?"test"/);
  assert.ok(await untrusted(), "it runs another command now");
});

inPage("an address of another step leaves no edge selected that Delete would remove", async (page) => {
  await page.goto(studio.at("/definition/release?node=test"));
  await page.waitForSelector(".node.selected");
  await page.locator("[data-graph]").focus();
  await page.keyboard.press("e");
  await page.waitForSelector("[aria-label=Details] h2:text-is('Edge')");
  await page.evaluate(() => (location.hash = "#/definition/release?node=tag"));
  await page.waitForSelector("[aria-label=Details] h2:text-is('Tag the release')");
});

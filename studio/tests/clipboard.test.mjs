// Steps are copied, pasted and duplicated by keyboard, within a definition and into another one.
import assert from "node:assert/strict";
import { Hands } from "./hands.mjs";
import { inPage, prepare, project, studio } from "./suite.mjs";

const other = { name: "Other", nodes: { start: { type: "start" }, work: { type: "task" }, done: { type: "end", result: "success" } }, edges: [{ from: "start", to: "work" }, { from: "work", to: "done" }] };

prepare((project) => {
  project.example("examples/navigator/release/release.json", "release.json");
  project.write(".flow/workflows/other.json", `${JSON.stringify(other, null, 2)}\n`);
});

const CLIPBOARD = { permissions: ["clipboard-read", "clipboard-write"] };
const written = (name) => JSON.parse(project.read(`.flow/workflows/${name}.json`));

inPage(
  "a step is copied into another definition, with all that is written of it, and can be pasted twice",
  async (page) => {
    const hands = new Hands(page);
    await hands.at("release", "write_notes");
    await hands.key("Control+c");
    await page.evaluate(() => (location.hash = "#/definition/other?node=work"));
    await page.locator(".work-head h1:text-is('Other')").waitFor();
    await page.locator(".node.selected .name:text-is('work')").waitFor();
    await hands.key("Control+v");
    await hands.selected("write_notes");
    await page.locator(".node.selected .name:text-is('Write the release notes')").waitFor();
    await hands.key("Control+v");
    await hands.selected("write_notes-2");
    await hands.save();
    const { nodes, edges } = written("other");
    const { write_notes: original } = written("release").nodes;
    assert.deepEqual(nodes.write_notes, original);
    assert.deepEqual(nodes["write_notes-2"], original);
    // Each stands behind the step that was selected.
    assert.deepEqual(edges.map(({ from, to }) => `${from} ${to}`), ["start work", "work write_notes", "write_notes write_notes-2", "write_notes-2 done"]);
    await page.evaluate(() => (location.hash = "#/definition/release?node=tag"));
    await page.locator(".work-head h1:text-is('Release')").waitFor();
    assert.equal(await page.getByRole("button", { name: "Save…" }).count(), 0, "it was copied, and not cut");
  },
  CLIPBOARD,
);

inPage(
  "a step is duplicated; what is no step is not pasted, and in a field the keys are the field's",
  async (page) => {
    const hands = new Hands(page);
    await hands.at("release", "tag");
    await hands.key("Control+d");
    await hands.selected("tag_2");
    await page.evaluate(() => navigator.clipboard.writeText("no step at all"));
    await hands.key("Control+v");
    const field = page.locator("[data-form]").getByLabel("Agent", { exact: true });
    await field.fill("");
    await page.keyboard.press("Control+v");
    assert.equal(await field.inputValue(), "no step at all");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await hands.save();
    const { nodes } = written("release");
    assert.deepEqual(Object.keys(nodes).filter((id) => id.startsWith("tag")), ["tag", "tag_2"]);
    assert.deepEqual(nodes["tag_2"], nodes.tag);
    assert.equal(Object.keys(nodes).length, 10);
  },
  CLIPBOARD,
);

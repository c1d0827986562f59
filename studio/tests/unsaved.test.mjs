// The texts of a definition: typed in the source, changed on disk by others, unsaved over a reload, and put together again.
import assert from "node:assert/strict";
import { Hands } from "./hands.mjs";
import { inPage, prepare, project, studio } from "./suite.mjs";

const FILE = ".flow/workflows/release.json";

prepare((project) => {
  project.example("examples/navigator/release/release.json", "release.json");
  project.example("examples/activities/work-package", "work-package");
});

const has = (page, text) => page.waitForFunction((text) => document.querySelector(".code-host")?.shadowRoot?.textContent.includes(text), text);
const chosen = (page, name) => page.locator(`.node.selected .name:text-is("${name}")`).waitFor();
const saved = (page) => page.locator(".work-actions .primary:text-is('Saved')").waitFor();

/** Does something with the definition as it is at the last commit. */
const over = (name, node, run, options) =>
  inPage(name, async (page) => {
    project.git("checkout", "-q", "--", ".");
    const hands = new Hands(page);
    await hands.at("release", node);
    await page.locator(".link-state.live").waitFor();
    await page.waitForFunction(() => document.querySelector(".code-host")?.shadowRoot?.querySelectorAll(".cm-line").length > 3);
    await run(page, hands);
  }, options);

over("what is typed in the source is in the graph, and letters without a pause are one step of the history", "repair", async (page, hands) => {
  // A click in the text selects the step that is written there.
  await page.locator(".code-host").getByText('"write_notes"').first().click();
  await hands.selected("write_notes");
  await page.locator(".code-host").getByText('"Write the release notes"').click();
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  for (const letter of " of today") await page.keyboard.press(letter === " " ? "Space" : letter);
  await chosen(page, "Write the release notes of today");
  await page.locator(".outline .name:text-is('Write the release notes of today')").waitFor();
  await page.keyboard.press("Control+z");
  await chosen(page, "Write the release notes");
  await saved(page);
});

over("a text that cannot be read leaves the last graph, greyed, with the line of the fault", "write_notes", async (page) => {
  const drawn = await page.locator(".node").count();
  await page.locator(".code-host").getByText('"stage"').first().click();
  await page.keyboard.press("End");
  await page.keyboard.type(" !");
  await page.locator(".pane.middle.stale").waitFor();
  assert.equal(await page.locator(".node").count(), drawn);
  const note = page.locator(".over-graph[role=status]");
  assert.match(await note.textContent(), /The text cannot be read now; this is the last graph\..*line \d+/);
  await page.waitForFunction(() => document.querySelector(".code-host").shadowRoot.querySelector(".cm-lintRange-error, .cm-lintPoint-error, .cm-lint-marker-error"));
  // Nothing can be done to a graph that may be another one by now.
  assert.equal(await page.locator(".handle, .palette").count(), 0);
  await page.keyboard.press("Control+z");
  await page.locator(".pane.middle:not(.stale)").waitFor();
  await note.waitFor({ state: "detached" });
  await saved(page);
});

over("what others write is loaded where nothing is unsaved, and the chosen step stays where it is", "test", async (page, hands) => {
  await chosen(page, "Test");
  // Where a part of the graph was chosen to look at: else all of it is fitted to its pane again.
  await hands.key("+");
  const place = () => page.evaluate(() => {
    const { x, y } = document.querySelector(".node.selected").getBoundingClientRect();
    return [Math.round(x), Math.round(y)];
  });
  const before = await place();
  // A step above it has everything below laid out anew.
  const { drawing } = await studio.ask("/definitions/release");
  project.write(FILE, project.read(FILE).replace('{ "from": "start", "to": "write_notes" }', '{ "from": "start", "to": "extra" },\n    { "from": "extra", "to": "write_notes" }').replace('"write_notes": {', '"extra": { "type": "task", "name": "Look around" },\n    "write_notes": {'));
  await page.locator(".outline .name:text-is('Look around')").waitFor();
  await has(page, '"Look around"');
  const { drawing: now } = await studio.ask("/definitions/release");
  const y = (drawing) => drawing.nodes.find(({ id }) => id === "test").y;
  assert.ok(y(now) > y(drawing) + 50);
  await page.waitForFunction((before) => {
    const { x, y } = document.querySelector(".node.selected").getBoundingClientRect();
    return Math.abs(Math.round(x) - before[0]) <= 1 && Math.abs(Math.round(y) - before[1]) <= 1;
  }, before);
  await saved(page);
}, { reducedMotion: "reduce" });

over("what others write while something is unsaved is told, and put together place by place", "repair", async (page, hands) => {
  await hands.fill("Name", "Mend it");
  await hands.click("tag");
  await hands.fill("Name", "Tag it");
  const theirs = project.read(FILE).replace('"name": "Repair"', '"name": "Repair it"').replace('"name": "Released"', '"name": "Out"');
  project.write(FILE, theirs);
  const banner = page.locator(".banner", { hasText: "It was changed on disk" });
  await banner.waitFor();
  await banner.getByRole("button", { name: "Compare and choose" }).click();
  const use = page.getByRole("dialog").getByRole("button", { name: "Use this" });
  await page.locator("dialog .merge-changed").first().waitFor();
  // Of the three places only one is changed by both.
  assert.equal(await page.locator("dialog .merge-changed").count(), 3);
  await page.locator("dialog [role=status]:text-is('1 to choose')").waitFor();
  assert.ok(await use.isDisabled());
  await page.locator("dialog .merge-changed", { hasText: "Mend it" }).locator("label", { hasText: "On disk" }).click();
  await use.click();
  await page.locator("dialog .diff-lines").waitFor();
  assert.equal(project.read(FILE), theirs, "nothing is written by it");
  await page.keyboard.press("Escape");
  await hands.closed();
  // It is one step of the history.
  await page.locator(".outline .name:text-is('Repair it')").waitFor();
  await hands.key("Control+z");
  await page.locator(".outline .name:text-is('Mend it')").waitFor();
  await hands.key("Control+Shift+z");
  await page.locator(".outline .name:text-is('Repair it')").waitFor();
  await hands.save();
  await saved(page);
  assert.equal(project.read(FILE), theirs.replace('"name": "Tag the release"', '"name": "Tag it"'));
});

over("what is unsaved survives a reload, is asked about, and is thrown away only when that is said", "repair", async (page, hands) => {
  // The browser itself asks before a reload.
  const asked = [];
  page.removeAllListeners("dialog");
  page.on("dialog", (dialog) => (asked.push(dialog.type()), dialog.accept()));
  await hands.fill("Agent", "ada");
  await page.reload();
  assert.deepEqual(asked, ["beforeunload"]);
  const kept = page.locator(".banner", { hasText: "changes of yours that were never saved" });
  await kept.getByRole("button", { name: "Take them up again" }).click();
  await has(page, '"agent": "ada"');
  const dialog = page.getByRole("dialog", { name: "Leave without saving?" });
  const leave = async (answer) => {
    await page.getByRole("link", { name: "Home" }).click();
    await dialog.waitFor();
    // Nothing has changed yet, the address neither.
    assert.match(page.url(), /#\/definition\/release/);
    await dialog.getByRole("button", { name: answer, exact: true }).click();
    await hands.closed();
  };
  await leave("Stay");
  await has(page, '"agent": "ada"');
  await leave("Leave");
  await page.locator("a.entry").first().waitFor();
  await page.evaluate(() => (location.hash = "#/definition/release"));
  await kept.getByRole("button", { name: "Throw them away" }).click();
  await kept.waitFor({ state: "detached" });
  await saved(page);
  await page.getByRole("link", { name: "Home" }).click();
  await page.locator("a.entry").first().waitFor();
  assert.equal(project.git("status", "--porcelain"), "");
});

inPage("several files are one document, with one history, and each says whether it is saved", async (page) => {
  await new Hands(page).at("work-package", "validate");
  const file = (name) => page.locator(".files button", { hasText: name });
  await page.locator(".files button[aria-pressed=true]", { hasText: "07-validate" }).waitFor();
  await page.locator(".code-host").getByText("name: Validate", { exact: true }).click();
  await page.keyboard.press("End");
  await page.keyboard.type(" it");
  const titled = (name) => page.locator(`.outline .name:text-is("${name}")`).waitFor();
  await titled("Validate it");
  await file("07-validate").getByText("unsaved").waitFor({ state: "attached" });
  assert.equal(await page.locator(".files :text('unsaved')").count(), 1);
  // The history is there in another file, too.
  await file("workflow.yaml").click();
  await page.keyboard.press("Control+z");
  await titled("Validate");
  await page.locator(".files :text('unsaved')").waitFor({ state: "detached" });
  await saved(page);
});

// What stands at home: files that clash or are no definitions, runs of states that wait, commands of the catalogue. And
// what a question of a function shows, with the real server.
import assert from "node:assert/strict";
import { soundIn } from "./browser.mjs";
import { inPage, picture, prepare, project, studio } from "./suite.mjs";

const SMALL = JSON.stringify({
  nodes: { start: { type: "start" }, work: { type: "task" }, check: { type: "task" }, done: { type: "end", result: "success" } },
  edges: [
    { from: "start", to: "work" },
    { from: "work", to: "check" },
    { from: "check", to: "done" },
  ],
});

prepare((project) => {
  project.write("one/release.json", SMALL);
  project.write("two/release.json", SMALL);
  project.write("navigator/of-the-whole-harbour/release/harbour-release.json", SMALL);
  project.write("README.md", "# Of this folder\n");
  project.example("examples/agent-states/quick-start", "quick-start");
  project.write("answers.yaml", "- text: Dear Ada,\n");
});

const given = () => project.studio("one", "two", "navigator/of-the-whole-harbour/release", "README.md", "answers.yaml");

inPage("files with one id say so, and what is no definition stands last", async (page, complaints) => {
  const studio = await given();
  try {
    await page.goto(studio.at("/"));
    const own = page.getByRole("region", { name: "Definitions" }).locator(".entry");
    await own.first().waitFor();
    const texts = await own.allTextContents();
    const at = (part) => texts.findIndex((text) => text.includes(part));
    assert.match(texts[at("one/release.json")], /two\/release\.json has the id release as well.*1 error/);
    assert.match(texts.find((text) => text.includes("one/release.json has")), /release.*two\/release\.json$/);
    assert.deepEqual(texts.slice(-2).map((text) => /^(README\.md|answers\.yaml)this is no definition/.test(text)), [true, true], texts.join("\n"));
    assert.equal(await page.locator("a.entry", { hasText: "has the id" }).count(), 0);
    await soundIn(page, complaints, "clashes");
    await picture(page, "given");
    await page.locator("a.entry", { hasText: "README.md" }).click();
    await page.getByRole("heading", { name: "README", level: 1 }).waitFor();
    assert.equal(await page.getByRole("link", { name: "Try it" }).count(), 0);
  } finally {
    await studio.kill();
  }
});

inPage("a path breaks after its slashes", async (page) => {
  const studio = await given();
  try {
    await page.goto(studio.at("/definition/harbour-release"));
    const path = page.getByLabel("Details").locator("dd code");
    await path.waitFor();
    await picture(page, "path");
    // The line of each character.
    const lines = await path.evaluate((code) => {
      const lines = new Map();
      for (const text of [...code.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE)) {
        for (let at = 0; at < text.length; at += 1) {
          const range = document.createRange();
          range.setStart(text, at);
          range.setEnd(text, at + 1);
          const top = Math.round(range.getBoundingClientRect().top);
          lines.set(top, (lines.get(top) ?? "") + text.data[at]);
        }
      }
      return [...lines.values()];
    });
    assert.ok(lines.length > 1, lines);
    assert.ok(lines.slice(0, -1).every((line) => line.endsWith("/")), lines.join(" | "));
  } finally {
    await studio.kill();
  }
});

inPage("a run without a model says why it waits, and how it continues", async (page, complaints) => {
  const said = project.says("run", "quick-start", "name=Ada");
  const run = /run (\w+)/.exec(said)?.[1];
  await page.goto(studio.at("/"));
  const row = page.locator("a.entry.run", { hasText: run });
  await row.getByText("Waits for a person's decision").waitFor();
  assert.match(await row.textContent(), new RegExp(`^Waiting.*no model is set for draft.*portolan runs resume ${run} --go-on --model PROVIDER:MODEL continues it`, "i"));
  await soundIn(page, complaints, "held at home");
  await picture(page, "held");
  await row.click();
  const why = page.getByRole("region", { name: "Why it stands" });
  await why.getByText("no model is set for").waitFor();
  assert.match(await why.textContent(), new RegExp(`portolan runs resume ${run} --go-on`));
  assert.equal(await why.getByRole("link", { name: "Answer" }).count(), 0, "no question waits in the inbox");
  await soundIn(page, complaints, "held");
  await picture(page, "held-run");
});

inPage("a question of a function shows what is asked about", async (page, complaints) => {
  project.says("run", "quick-start", "name=Ada", "--model", "scripted:answers.yaml");
  await page.goto(studio.at("/inbox"));
  const card = page.locator(".question", { hasText: "May the greeting be sent?" });
  const output = card.getByRole("group", { name: "Output of draft" });
  await output.waitFor();
  assert.equal(await output.textContent(), "Dear Ada,");
  await soundIn(page, complaints, "outputs");
  await picture(page, "outputs");
});

inPage("each entry of the catalogue has its command, which is copied with a button", async (page, complaints) => {
  await page.goto(studio.at("/"));
  const entry = page.getByRole("region", { name: "Catalogue" }).getByRole("listitem").filter({ hasText: "portolan catalog copy bug-fix" });
  await entry.getByRole("button", { name: /^Copy/ }).click();
  await entry.getByText(/^(Copied|Selected)/).waitFor();
  await soundIn(page, complaints, "catalogue");
  await entry.scrollIntoViewIfNeeded();
  await picture(page, "catalogue");
});

inPage("a gate that is added between two steps says that it leads back", async (page, complaints) => {
  const studio = await given();
  try {
    await page.goto(studio.at("/definition/harbour-release"));
    await page.getByRole("button", { name: "Add", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Add a step" });
    const back = dialog.getByText("A failure leads back to “work”, at most 3 times; both can be changed afterwards.");
    await dialog.getByRole("radio", { name: "Gate" }).check();
    await dialog.getByLabel("Where").selectOption({ label: "Between “work” and “check”" });
    await back.waitFor();
    await soundIn(page, complaints, "gate");
    await dialog.getByRole("radio", { name: "Task" }).check();
    await back.waitFor({ state: "detached" });
  } finally {
    await studio.kill();
  }
});

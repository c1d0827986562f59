// What a screen says where there is nothing, too much, or nothing that may be changed.
import assert from "node:assert/strict";
import { soundIn } from "./browser.mjs";
import { Hands } from "./hands.mjs";
import { Project } from "./project.mjs";
import { inPage, prepare, project, studio } from "./suite.mjs";

const FILE = ".flow/workflows/small.json";
const SMALL = {
  name: "Small",
  nodes: { start: { type: "start" }, work: { type: "task", agent: "ada" }, stuck: { type: "end", name: "Stuck", result: "blocked", escalation: "hitl", description: "What now?" }, done: { type: "end", result: "success" } },
  edges: [{ from: "start", to: "work" }, { from: "work", to: "done" }, { from: "work", to: "stuck", on: "failed" }, { from: "stuck", to: "work", on: "passed" }],
};
const MOST = 4 << 20;

/** A definition that has almost as many bytes as a file may have; most of them are blanks, line by line. */
function nearly() {
  const text = JSON.stringify(SMALL, null, 2);
  const line = `${" ".repeat(1023)}\n`;
  return `${text}\n${line.repeat(Math.floor((MOST - text.length - 1) / line.length))}`;
}

prepare((project) => {
  project.write(FILE, JSON.stringify(SMALL, null, 2));
  project.write(".flow/workflows/nearly.json", nearly());
  project.write(".flow/workflows/beyond.json", " ".repeat(MOST) + JSON.stringify(SMALL));
});

inPage("a file that is too large says how large it may be and what to do, at home and on its own screen", async (page, complaints) => {
  await page.goto(studio.at("/"));
  const entry = page.locator("a.entry", { hasText: "beyond" });
  await entry.waitFor();
  assert.match(await entry.textContent(), /has more than 4194304 bytes.*1 error/);
  await entry.click();
  const alert = page.getByRole("alert").filter({ hasText: "beyond.json" });
  await alert.waitFor();
  assert.match(await alert.textContent(), /has more than 4194304 bytes.*split it: a subflow can be in a file of its own/);
  await soundIn(page, complaints, "too large");
  // Once it is small enough it is shown, by itself.
  project.write(".flow/workflows/beyond.json", JSON.stringify(SMALL));
  await page.locator(".node", { hasText: "work" }).waitFor();
});

inPage("a text that became too large is not written: the page says so, keeps it, and takes it back", async (page, complaints) => {
  const before = project.read(".flow/workflows/nearly.json");
  await new Hands(page).at("nearly", "work");
  await page.locator(".code-host").getByText('"agent"').first().click();
  await page.keyboard.press("End");
  await page.keyboard.insertText(" ".repeat(4_000));
  await page.getByRole("button", { name: "1 problem" }).click();
  await page.locator(".problems", { hasText: /the file has \d+ bytes, more than the 4194304 allowed/ }).waitFor();
  await page.keyboard.press("Control+s");
  await page.getByRole("dialog").getByRole("button", { name: "Save with errors" }).click();
  const refused = page.getByRole("dialog").getByRole("alert");
  await refused.waitFor();
  assert.match(await refused.textContent(), /nearly\.json would have more than 4194304 bytes.*move parts of it into another definition/);
  await soundIn(page, complaints, "not written");
  assert.equal(project.read(".flow/workflows/nearly.json"), before);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Save…" }).waitFor();
  await page.keyboard.press("Control+z");
  await page.locator(".work-actions .primary:text-is('Saved')").waitFor();
});

inPage("a project without anything says on each screen what to do", async (page, complaints) => {
  const empty = new Project(project.binary);
  const fresh = await empty.studio();
  try {
    await page.goto(fresh.at("/"));
    await page.getByRole("heading", { name: "This project has no definitions yet" }).waitFor();
    const home = await page.locator("main").textContent();
    assert.match(home, /Nothing is running\. An agent begins a run through MCP; portolan run begins one/);
    assert.match(home, /Copy one of the catalogue below with its command.*portolan studio FOLDER/);
    await soundIn(page, complaints, "an empty home");
    await page.goto(fresh.at("/inbox"));
    await page.getByRole("heading", { name: "Nobody waits for you" }).waitFor();
    assert.match(await page.locator("main").textContent(), /A question appears here as soon as a run or a call needs a person/);
    await soundIn(page, complaints, "an empty inbox");
    await page.goto(fresh.at("/project"));
    await page.getByText("Nothing is trusted: no definition runs commands or servers of its own.").waitFor();
    for (const words of ["No definition of the project calls a server.", "No budget is open: .portolan/plugins.yaml sets them", "Nothing is in it yet.", "Nothing is installed in this project. In a terminal: portolan install."]) await page.getByText(words).first().waitFor();
    await soundIn(page, complaints, "an empty project");
    // What is written there while it is looked at appears by itself.
    await page.goto(fresh.at("/"));
    await page.getByRole("heading", { name: "This project has no definitions yet" }).waitFor();
    empty.write(FILE, JSON.stringify(SMALL));
    await page.getByRole("region", { name: "Definitions" }).locator("a.entry", { hasText: "Small" }).waitFor();
  } finally {
    await fresh.kill();
    empty.remove();
  }
});

/** A studio that only shows, and a run in it whose question waits. */
const shows = (name, run) =>
  inPage(name, async (page, complaints) => {
    const agent = await project.agent().begin();
    const asking = await agent.open("small", "make it so");
    await agent.next("failed");
    agent.end();
    const showing = await project.studio("--read-only");
    try {
      await run(page, showing, asking, complaints);
    } finally {
      await showing.kill();
    }
  });

shows("a studio that only shows offers no edit and no save, and takes no answer", async (page, showing, run, complaints) => {
  await page.goto(showing.at("/definition/small?node=work"));
  await page.locator(".node.selected").waitFor();
  await page.getByRole("banner").getByText("read-only").waitFor();
  assert.equal(await page.locator("[data-form], .handle, .palette").count(), 0);
  for (const name of ["Save…", "Saved", "Undo", "Add"]) assert.equal(await page.getByRole("button", { name, exact: true }).count(), 0, name);
  await page.locator("[data-graph]").focus();
  for (const key of ["a", "c", "F2", "Delete", "w", "Control+s"]) await page.keyboard.press(key);
  // A key that does something is the last one: those before it have been heard.
  await page.keyboard.press("ArrowDown");
  await page.waitForFunction(() => !location.hash.includes("node=work"));
  assert.equal(await page.locator("dialog").count(), 0);
  await soundIn(page, complaints, "a definition that is only shown");
  await page.goto(showing.at("/inbox"));
  const card = page.locator(".question", { hasText: run });
  await card.getByText("This studio was started with --read-only. Answer in your terminal.").waitFor();
  assert.equal(await card.locator("form, input").count(), 0);
  assert.deepEqual((await card.locator(".command").allTextContents()).map((text) => text.trim().split(" ").at(-1)), ["passed", "cancelled"]);
  await soundIn(page, complaints, "a question that is only shown");
  await page.goto(showing.at("/project"));
  await page.getByText("The server was started with --read-only: nothing can be changed or answered here.").waitFor();
});

shows("a studio that only shows says why, and offers nothing that could only fail", async (page, showing, run) => {
  await page.goto(showing.at("/definition/small?node=work"));
  await page.locator(".node.selected").waitFor();
  await page.locator(".work-text", { hasText: "--read-only" }).waitFor();
  await page.goto(showing.at("/try/small"));
  await page.locator(".try-form").waitFor();
  assert.ok(await page.getByRole("button", { name: "Begin a run" }).isDisabled());
  await page.goto(showing.at(`/run/${run}@2`));
  await page.waitForSelector(".badge");
  for (const name of [/^Branch from this record/, /^Run again from/]) assert.equal(await page.getByRole("button", { name }).count(), 0, String(name));
});

shows("nothing false is said and nothing is offered before the page knows that it only shows", async (page, showing, run) => {
  let answer;
  const held = new Promise((release) => (answer = release));
  await page.route(/\/api\/v1\/project$/, async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(showing.at("/definition/small?node=work"));
  await page.locator(".node.selected").waitFor();
  assert.doesNotMatch(await page.locator(".work-text").textContent(), /catalogue/);
  assert.equal(await page.locator("[data-form], .handle, .palette").count(), 0);
  await page.goto(showing.at("/try/small"));
  await page.locator(".try-form").waitFor();
  assert.ok(await page.getByRole("button", { name: "Begin a run" }).isDisabled());
  await page.goto(showing.at(`/run/${run}@2`));
  await page.waitForSelector(".badge");
  assert.equal(await page.getByRole("button", { name: /^Branch from this record/ }).count(), 0);
  answer();
  await page.goto(showing.at("/definition/small?node=work"));
  await page.locator(".work-text", { hasText: "--read-only" }).waitFor();
});

// Each dialog that is opened at a definition and at a run is sound, in light and in dark, also when it refuses something.
import assert from "node:assert/strict";
import { soundIn, soundInBoth } from "./browser.mjs";
import { Hands } from "./hands.mjs";
import { inPage, prepare, project, studio } from "./suite.mjs";

const SUMS = `version: "1.0"
server: {name: sums, version: "1"}
tools:
  - name: sum
    description: Adds two numbers
    inputSchema: {type: object, properties: {a: {type: integer}}, required: [a]}
    nodes:
      - {id: entry, type: entry, next: add}
      - {id: add, type: mcp, server: echo, tool: add, args: {a: {expr: $.entry.a}}, next: told}
      - {id: told, type: transform, transform: {expr: '$.add.sum'}, next: exit}
      - {id: exit, type: exit}
`;
const CALLS = `mcpServers:
  say: { builtin: echo }
states:
  look: { objective: Look at the charts, tools: [say/echo], is_final: true }
`;
const ANSWERS = `- tool_calls: [{ name: say_echo, arguments: { message: coasts } }]
- text: They show coasts.
`;

prepare((project) => {
  project.example("examples/navigator/release/release.json", "release.json");
  project.example("examples/activities/follow-up.yaml", "follow-up.yaml");
  project.write(".flow/workflows/sums.yaml", SUMS);
  project.write(".flow/workflows/calls.yaml", CALLS);
  project.write("answers.yaml", ANSWERS);
});

const opened = (page) => page.waitForSelector("dialog[open]");
const refused = (page, words) => page.getByRole("dialog").locator(".inline-failure", { hasText: words }).waitFor();
const status = (page, words) => page.waitForFunction((words) => document.querySelector(".drive-bar [role=status]")?.textContent.includes(words), words);

/** A run of the function, paused before `told` or over. */
async function summed(page, { breakpoints = [] } = {}) {
  const { run } = await studio.post("/definitions/sums/try", { input: { a: 2 }, answers: { add: { sum: 42 } }, breakpoints });
  await page.goto(studio.at(`/run/${run}?node=told`));
  await status(page, breakpoints.length > 0 ? "paused before told" : "ended");
  return run;
}

inPage("the dialogs of a definition, and what they refuse", async (page, said) => {
  const hands = new Hands(page);
  const escape = async () => {
    await page.keyboard.press("Escape");
    await hands.closed();
  };
  await hands.at("release", "approve");
  await hands.key("F2");
  await page.getByRole("dialog").getByLabel(/^Id/).fill("tag");
  await page.keyboard.press("Enter");
  await refused(page, "tag");
  await soundInBoth(page, said, "a name that is taken");
  await escape();
  await hands.key("k");
  await opened(page);
  await soundInBoth(page, said, "another kind");
  await escape();
  await hands.key("c");
  await opened(page);
  await page.keyboard.type("dropped");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: /leads to/ }).waitFor();
  await soundInBoth(page, said, "on which outcome");
  await escape();
  await hands.at("release", "test");
  await hands.fill("Agent", "ada");
  await page.getByRole("link", { name: "Try it" }).click();
  await page.getByRole("dialog", { name: "Save before you try it?" }).waitFor();
  await soundInBoth(page, said, "unsaved, and tried");
  await escape();
  // With an error in it, it is saved only when that is said.
  await page.locator("[data-form]").getByLabel("Retries").fill("-2");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: /problem|warning/ }).waitFor();
  await page.keyboard.press("Control+s");
  await page.getByRole("dialog").getByRole("button", { name: "Save with errors" }).waitFor();
  await soundInBoth(page, said, "saving with an error");
  await escape();
});

inPage("a step that is moved, and one that is put into a loop", async (page, said) => {
  const hands = new Hands(page);
  await hands.at("follow-up", "file.issue");
  await hands.key("m");
  await page.getByRole("dialog", { name: /^Move / }).waitFor();
  await soundInBoth(page, said, "moving");
  await page.keyboard.press("Escape");
  await hands.closed();
  await hands.at("follow-up", "report.count");
  await hands.key("w");
  await page.getByRole("dialog", { name: /^Wrap / }).waitFor();
  await soundInBoth(page, said, "what a loop is asked for");
  await page.keyboard.press("Enter");
  await hands.selected("report.loop");
  await page.locator("aside[aria-label=Details] [data-form]").waitFor();
  await soundInBoth(page, said, "a new loop, and its form");
});

inPage("a changed value, the menu of a step, and a condition that is refused", async (page, said) => {
  await summed(page, { breakpoints: ["told"] });
  await page.locator("button:enabled", { hasText: "Change a value" }).click();
  await page.getByLabel("Node or variable").selectOption("add");
  await soundInBoth(page, said, "another value");
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  await page.locator(".node", { hasText: "told" }).click({ button: "right" });
  await page.getByRole("menu").waitFor();
  await soundInBoth(page, said, "the menu of a step");
  await page.keyboard.press("Escape");
  await page.getByRole("menu").waitFor({ state: "detached" });
  await page.getByLabel("Only when").fill("$.add.sum >");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".drive-bar [role=alert]:has-text('cannot be read')");
  await soundInBoth(page, said, "a condition that cannot be read");
});

inPage("a click on a step finds it while a condition that was refused is left", async (page) => {
  await summed(page, { breakpoints: ["told"] });
  await page.getByLabel("Only when").fill("$.add.sum >");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".drive-bar [role=alert]:has-text('cannot be read')");
  await page.locator('.react-flow__node[data-id="add"]').click();
  await page.waitForFunction(() => !location.hash.includes("node=told"));
  assert.match(page.url(), /node=add/);
});

inPage("the forms of a new run, and a test that is saved", async (page, said) => {
  await summed(page);
  await page.getByRole("button", { name: "Run again from told…" }).click();
  const field = page.getByLabel("Value of add, as JSON");
  await field.waitFor();
  await field.fill('{"sum": 1}');
  await page.getByRole("dialog").getByRole("button", { name: "Change another value" }).click();
  await page.getByLabel("Name of the node or variable").nth(1).fill("nothing");
  await page.getByLabel("Value of nothing, as JSON").fill("1");
  await page.getByRole("button", { name: "Create and run it" }).click();
  await page.getByRole("dialog").getByRole("alert").waitFor();
  await soundInBoth(page, said, "a fork that is refused");
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  const save = async (name) => {
    await page.getByText("Save as a test…").click();
    await page.getByLabel("What the test shows").fill(name);
  };
  await save("a sum");
  await soundInBoth(page, said, "a test, before it is saved");
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog pre");
  await soundInBoth(page, said, "a test that is saved");
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  await save("a sum");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByRole("alert").waitFor();
  await soundInBoth(page, said, "a test whose name is taken");
});

inPage("a run of an agent that is to go on over another definition", async (page, said) => {
  const agent = await project.agent().begin();
  const run = await agent.open("release", "version 2");
  agent.end();
  await page.goto(studio.at(`/run/${run}@2`));
  await page.getByRole("button", { name: "Branch from this record…" }).and(page.locator("[aria-disabled=false]")).click();
  await page.getByRole("dialog").getByLabel("Definition").selectOption("current");
  await page.locator("dialog .command").waitFor();
  await soundInBoth(page, said, "over another definition");
});

inPage("a message of a model that only calls a tool is no empty box", async (page, said) => {
  const { run } = await studio.post("/definitions/calls/try", { input: {}, model: `scripted:${project.path}/answers.yaml` });
  await page.goto(studio.at(`/run/${run}?node=look`));
  await page.locator(".messages li", { hasText: "They show coasts." }).waitFor();
  await soundIn(page, said, "a call of a model");
});

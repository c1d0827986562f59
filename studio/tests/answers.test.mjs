// What a person reads before and after an answer, and after a failure, without knowing anything else, with the real server.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { soundIn } from "./browser.mjs";
import { inPage, picture, prepare, project, studio } from "./suite.mjs";

const SHIP = {
  name: "Ship",
  nodes: {
    start: { type: "start" },
    build: { type: "task", name: "Build" },
    ask: { type: "end", name: "Release it?", result: "blocked", escalation: "hitl", description: "Shall it go out?" },
    tag: { type: "task", name: "Tag the release" },
    done: { type: "end", result: "success" },
    dropped: { type: "end", name: "Not released", result: "cancelled" },
  },
  edges: [
    { from: "start", to: "build" },
    { from: "build", to: "ask" },
    { from: "ask", to: "tag", on: "passed", label: "Publish" },
    { from: "ask", to: "dropped", on: "cancelled" },
    { from: "tag", to: "done" },
  ],
};
const DOUBLE = `version: "1.0"
server: {name: doubles, version: "1"}
tools:
  - name: double
    title: Doubles a number
    description: Doubles a number that is written as a text
    inputSchema: {type: object, properties: {text: {type: string}}, required: [text]}
    nodes:
      - {id: entry, type: entry, next: words}
      - {id: words, type: transform, transform: {expr: $.entry.text}, next: twice}
      - {id: twice, type: transform, transform: {expr: '{"twice": 2 * $number($.words)}'}, next: exit}
      - {id: exit, type: exit}
`;
const LONG = "Built with the new compiler. ".repeat(12);

prepare((project) => {
  project.write(".flow/workflows/ship.json", JSON.stringify(SHIP, null, 2));
  project.write(".flow/workflows/doubles.yaml", DOUBLE);
  project.write("tools/thirds.yaml", DOUBLE.replaceAll("doubles", "thirds").replace("name: double", "name: third"));
});

/** A run of an agent that waits for a person, with a note on its work. */
async function asking(...words) {
  const agent = await project.agent(...words).begin();
  const run = await agent.open("ship", "release 1.2");
  await agent.next("passed", `${LONG}Two warnings are left.`);
  agent.end();
  assert.equal(agent.told.state, "waiting");
  return run;
}

const cardOf = (page, run) => page.locator(".question", { hasText: run });

inPage("a question has the agent's last note and what each answer leads to, and the answer leads to the run", async (page, said) => {
  const run = await asking();
  await page.goto(studio.at("/inbox"));
  const card = cardOf(page, run);
  await card.getByText("Two warnings are left.").first().waitFor();
  assert.match(await card.locator(".report-note").first().textContent(), /agent \w+ reported Build passed/);
  assert.match(await card.locator(".option", { hasText: "Publish" }).textContent(), /The run continues at Tag the release\./);
  assert.match(await card.locator(".option", { hasText: "cancelled" }).textContent(), /The run ends at Not released\./);
  await soundIn(page, said, "a question");
  await picture(page, "question-with-note");
  await card.getByRole("radio", { name: "Publish" }).check();
  await card.getByRole("button", { name: "Answer…" }).click();
  assert.match(await card.locator(".confirm").textContent(), /The run continues at Tag the release\..*The agent learns of it with its next call/);
  await card.getByRole("button", { name: "Yes, answer" }).click();
  const told = page.getByRole("status").filter({ hasText: `${run} was answered: Publish` });
  await told.getByText(`tell it to continue the run ${run}`).waitFor();
  await soundIn(page, said, "answered");
  await told.getByRole("link", { name: "Show the run" }).click();
  await page.waitForFunction((run) => location.hash.includes(`/run/${run}`), run);
});

inPage("an answer that ends the run sends no agent on", async (page) => {
  const run = await asking();
  await page.goto(studio.at("/inbox"));
  const card = cardOf(page, run);
  await card.locator(".option", { hasText: "Not released" }).click();
  await card.getByRole("button", { name: "Answer…" }).click();
  await card.getByRole("button", { name: "Yes, answer" }).click();
  await page.getByRole("status").filter({ hasText: `${run} was answered` }).getByText("The run has ended.").waitFor();
});

inPage(
  "the command of an answer works in any folder, and is copied with a button",
  async (page, said) => {
    const run = await asking("--human", "verified");
    await page.goto(studio.at("/inbox"));
    const card = cardOf(page, run);
    await card.getByRole("button", { name: /^Copy ?: .* passed$/ }).click();
    await card.getByText("Copied").waitFor();
    await soundIn(page, said, "copied");
    const command = await page.evaluate(() => navigator.clipboard.readText());
    const [program, ...words] = command.split(" ");
    assert.equal(program, "portolan");
    const ran = spawnSync(project.binary, words, { cwd: tmpdir(), env: project.env, encoding: "utf8" });
    assert.equal(ran.status, 0, ran.stderr);
    await card.waitFor({ state: "detached" });
  },
  { permissions: ["clipboard-read", "clipboard-write"] },
);

inPage("the timeline has what a report leads to before its note, and the whole of it as a title", async (page) => {
  const run = await asking();
  await page.goto(studio.at(`/run/${run}`));
  const record = page.locator(".record", { hasText: "reported passed" });
  await record.locator(".record-text", { hasText: /^reported passed → Release it\? asks a person · “Built with/ }).waitFor();
  assert.ok((await record.getAttribute("title")).includes("Two warnings are left."));
});

inPage("a failed step has its input beside the error, and is run again with another text", async (page, said) => {
  const { run } = await studio.post("/definitions/doubles/try", { input: { text: 'say "four"' } });
  await page.goto(studio.at(`/run/${run}?node=twice`));
  const details = page.locator("aside[aria-label=Details]");
  await details.locator(".inline-failure").first().waitFor();
  await details.getByRole("heading", { name: "Input: words" }).waitFor();
  assert.equal(await details.getByLabel("Input: words").textContent(), 'say "four"');
  // A function whose title is not its name is found all the same.
  await page.getByRole("link", { name: "its definition" }).waitFor();
  await details.getByRole("button", { name: /^Run again from twice…/ }).click();
  const value = page.getByLabel("Value of words, as text");
  assert.equal(await value.inputValue(), 'say "four"');
  await soundIn(page, said, "a text");
  await value.fill("4");
  await page.getByRole("button", { name: "Create and run it" }).click();
  await page.waitForSelector("text=branched from");
  await page.waitForSelector(".drive-bar [role=status]:has-text('ended')");
  const fork = new URL(page.url()).hash.match(/run\/([a-z0-9]+)/)[1];
  const { head } = await studio.ask(`/runs/${fork}`);
  assert.deepEqual((await studio.ask(`/runs/${fork}/at/${head}`)).values[0].value.twice, { twice: 8 });
});

inPage("a graph that has runs is at home although its file is outside of the folders, and the project's come before the catalogue's", async (page, said) => {
  project.says("run", "--durable", "tools/thirds.yaml", "text=1");
  await page.goto(studio.at("/"));
  const own = page.getByRole("region", { name: "Definitions", exact: true });
  const elsewhere = own.locator("a.entry", { hasText: "not in the folders" });
  await elsewhere.waitFor();
  assert.deepEqual(await own.locator(".entry-name").allTextContents(), ["Doubles a number", "Ship", "third"]);
  await page.getByRole("region", { name: "Catalogue" }).locator("a.entry").first().waitFor();
  await soundIn(page, said, "home");
  await elsewhere.click();
  await page.locator(".work-head h1").waitFor();
  assert.match(page.url(), /#\/run\//);
});

// The project and the inbox, with the real server.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { soundIn } from "./browser.mjs";
import { inPage, picture, prepare, project, studio } from "./suite.mjs";

const checked = (name) => ({
  name,
  nodes: { start: { type: "start" }, work: { type: "task", accept: [{ id: "tests", run: ["sh", "-c", "echo two tests fail; exit 1"] }], maxRetries: 1 }, done: { type: "end", result: "success" }, stuck: { type: "end", result: "blocked", escalation: "hitl", description: "The tests keep failing. What now?" } },
  edges: [{ from: "start", to: "work" }, { from: "work", to: "done", on: "passed" }, { from: "work", to: "stuck", on: "failed" }, { from: "stuck", to: "work", on: "passed" }],
});

const ECHOES = `version: "1.0"
server: {name: echoes, version: "1"}
mcpServers:
  far: {command: no-such-program, args: ["<img src=x onerror=alert(1)>"]}
tools:
  - name: echoes
    description: Says it back
    inputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: say}
      - {id: say, type: mcp, server: echo, tool: echo, args: {}, next: exit}
      - {id: exit, type: exit}
`;

prepare((project) => {
  project.write(".flow/workflows/echoes.yaml", ECHOES);
  project.write(".portolan/plugins.yaml", "budgets: {day: {turns: 10}}\n");
  for (const name of ["first", "second", "third"]) project.write(`.flow/workflows/${name}.json`, JSON.stringify(checked(name), null, 2));
});

const trusted = async () => (await studio.ask("/project/trust")).trusted.map((entry) => entry.file);

for (const colorScheme of ["light", "dark"]) {
  inPage(
    `what is trusted is told with its digest, and revoked by keyboard: ${colorScheme}`,
    async (page, complaints) => {
      project.says("trust", ".flow/workflows/first.json", ".flow/workflows/second.json");
      assert.equal((await trusted()).length, 2);
      await page.goto(studio.at("/project"));
      await page.waitForSelector(".findings, .verdict >> nth=1");
      const entry = page.locator(".trust-entry", { hasText: "first.json" });
      const { trusted: entries } = await studio.ask("/project/trust");
      assert.ok((await entry.textContent()).includes(entries.find(({ file }) => file.endsWith("first.json")).key));
      assert.match(await entry.textContent(), /sh -c echo two tests fail/);
      await soundIn(page, complaints, "project");
      if (colorScheme === "light") await picture(page, "project");
      const revoke = entry.getByRole("button", { name: /^Revoke/ });
      await revoke.focus();
      await page.keyboard.press("Enter");
      await page.waitForSelector("dialog[open]");
      await soundIn(page, complaints, "revoking");
      await page.keyboard.press("Escape");
      assert.equal((await trusted()).length, 2, "it is asked first");
      await revoke.focus();
      await page.keyboard.press("Enter");
      await page.locator("dialog .primary").focus();
      await page.keyboard.press("Enter");
      await entry.waitFor({ state: "detached" });
      assert.deepEqual((await trusted()).map((file) => file.split("/").at(-1)), ["second.json"]);
    },
    { colorScheme, viewport: { width: 1440, height: 1180 } },
  );
}

inPage("the chain of the event log is verified, and a line that was changed is told", async (page, complaints) => {
  const agent = await project.agent().begin();
  await agent.open("delivery", "the login fails");
  agent.end();
  await page.goto(studio.at("/project"));
  await page.waitForSelector(".verdict :text('whole')");
  const file = join(project.path, ".portolan/flow-events.jsonl");
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace("delivery", "derivery"));
  await page.click("text=Verify again");
  await page.waitForSelector(".verdict :text('broken')");
  await soundIn(page, complaints, "a broken chain");
  writeFileSync(file, text);
  await page.click("text=Verify again");
  await page.waitForSelector(".verdict :text('whole')");
});

/** A run whose checks fail until a person is asked. */
async function asking(...words) {
  project.says("trust", ".flow/workflows/first.json");
  const agent = await project.agent(...words).begin();
  const run = await agent.open("first", "make it so");
  for (let nth = 0; nth < 6 && agent.told.state !== "waiting"; nth += 1) await agent.next("passed").catch(() => agent.next("failed"));
  agent.end();
  assert.equal(agent.told.state, "waiting");
  return run;
}

inPage("a question tells which checks did not hold, who asks, and since when", async (page, complaints) => {
  const run = await asking();
  const { questions } = await studio.ask("/inbox");
  const asked = questions.find((question) => question.run === run);
  await page.goto(studio.at("/inbox"));
  const question = page.locator(".question", { hasText: run });
  await question.waitFor();
  const told = await question.textContent();
  assert.match(told, /first asks/);
  assert.ok(await question.locator("time").count());
  for (const { check, output } of asked.failures) assert.ok(told.includes(check) && told.includes(output.trim()), told);
  await soundIn(page, complaints, "inbox");
});

inPage("where only a person's own word counts, the page has the command for each answer, and no form", async (page, complaints) => {
  const run = await asking("--human", "verified");
  await page.goto(studio.at("/inbox"));
  const question = page.locator(".question", { hasText: run });
  await question.waitFor();
  assert.match(await question.textContent(), /Only a person's own answer counts/);
  assert.deepEqual((await question.locator(".command").allTextContents()).map((command) => command.trim()), [`portolan runs answer ${run} --project ${project.path} passed`, `portolan runs answer ${run} --project ${project.path} cancelled`]);
  assert.equal(await question.locator("form").count(), 0);
  await soundIn(page, complaints, "a person's question");
});

inPage("a run that stopped for want of trust says so on its page, at the step, in the inbox and at home", async (page, complaints) => {
  const agent = await project.agent().begin();
  const run = await agent.open("third", "make it so");
  for (let nth = 0; nth < 6 && agent.told.state !== "waiting"; nth += 1) await agent.next("failed");
  agent.end();
  assert.equal(agent.told.state, "waiting");
  const help = /portolan trust \S*third\.json/;
  await page.goto(studio.at("/"));
  assert.match(await page.locator("a.definition", { hasText: "third" }).textContent(), /not trusted/);
  await page.goto(studio.at(`/run/${run}`));
  const why = page.getByRole("region", { name: "Why it stands" });
  await why.getByText("Waits for a person's answer").waitFor();
  assert.match(await why.textContent(), help);
  await soundIn(page, complaints, "why a run stands");
  await page.goto(studio.at(`/run/${run}?node=work`));
  await page.getByText("Left without its check having been run: tests.").first().waitFor();
  assert.match(await page.locator(".facts [role=note]").textContent(), help);
  await page.goto(studio.at("/inbox"));
  const question = page.locator(".question", { hasText: run });
  await question.waitFor();
  assert.match(await question.textContent(), help);
  project.says("trust", ".flow/workflows/third.json");
  await page.goto(studio.at(`/run/${run}`));
  await why.getByText("Waits for a person's answer").waitFor();
  // It is trusted now.
  await why.getByRole("note").waitFor({ state: "detached" });
});

inPage("a server's tools are shown, and one is called by hand, by keyboard; budgets stand beside them", async (page, complaints) => {
  project.says("supervisor", "usage", "--turns", "9");
  await page.goto(studio.at("/project"));
  const far = page.locator(".trust-entry", { hasText: "no-such-program <img src=x onerror=alert(1)>" });
  await far.waitFor();
  assert.match(await far.textContent(), /not trusted.*not trusted yet.*portolan trust/s);
  assert.equal(await far.getByRole("button").count(), 0);
  const show = page.getByRole("button", { name: "Show its tools: echo of echoes" });
  await show.focus();
  await page.keyboard.press("Enter");
  const tools = page.getByRole("list", { name: "Tools of echo" });
  await tools.waitFor();
  const summary = tools.locator("summary", { has: page.locator("code:text-is('fail')") });
  await summary.focus();
  await page.keyboard.press("Enter");
  const form = page.getByRole("form", { name: "Call fail" });
  await form.getByRole("button", { name: "Call it" }).click();
  await form.getByText("This is required.").waitFor();
  await form.getByLabel(/message/).fill("<b>ahoy</b>");
  await form.getByRole("button", { name: "Call it" }).focus();
  await page.keyboard.press("Enter");
  const reply = form.locator(".tool-reply");
  await reply.waitFor();
  await form.getByText(/It answered with an error after/).waitFor();
  assert.match(await reply.textContent(), /<b>ahoy<\/b>/);
  const budget = page.locator(".budgets tbody tr");
  assert.match(await budget.textContent(), /day.*turns.*9 of 10.*1.*nearly used up/s);
  await soundIn(page, complaints, "a tool called by hand");
});

inPage("a bypass that an agent asks for, and a budget that is used up, are in the inbox with their commands", async (page, complaints) => {
  project.write(".flow/workflows/ship.yaml", "id: ship\ntitle: Ship\nphases:\n  - { id: plan, prompt: Plan it. }\n  - { id: build, prompt: Build it. }\n");
  project.says("flow", "start", "spring", "--workflow", "ship");
  await page.goto(studio.at("/inbox"));
  project.says("flow", "override", "I-3", "--reason", "<b>there is no tracker</b>");
  const asked = page.locator("li.question", { hasText: "Bypass I-3?" });
  await asked.getByText("<b>there is no tracker</b>", { exact: true }).waitFor();
  assert.match(await asked.textContent(), /portolan flow asks for the task spring in the phase plan.*portolan flow override I-3 --reason REASON --project /s);
  project.says("supervisor", "usage", "--turns", "9");
  const used = page.locator("li.question", { hasText: "The budget of turns is used up" });
  await used.getByText(/portolan supervisor budget raise day turns --to AMOUNT --reason REASON --project/).first().waitFor();
  await page.waitForFunction((waiting) => document.querySelector("h1 .count")?.textContent === String(waiting), (await studio.ask("/project")).inbox);
  await soundIn(page, complaints, "requests");
  await picture(page, "requests");
});

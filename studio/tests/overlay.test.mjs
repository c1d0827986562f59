// What the drawing of a run counts: how often its edges were taken, which branches a join still waits for, what a step cost.
import assert from "node:assert/strict";
import { soundIn } from "./browser.mjs";
import { inPage, prepare, project, studio } from "./suite.mjs";

const ROUND = {
  name: "Round",
  nodes: { start: { type: "start" }, fix: { type: "task" }, check: { type: "task", outputs: ["enough", "again"] }, done: { type: "end", result: "success" } },
  edges: [{ from: "start", to: "fix" }, { from: "fix", to: "check" }, { from: "check", to: "done", on: "enough" }, { from: "check", to: "fix", on: "again", label: "Once more" }],
};
const BOTH = {
  name: "Both",
  nodes: {
    start: { type: "start" },
    look: { type: "fork", join: "seen" },
    logs: { type: "task" },
    history: { type: "task" },
    seen: { type: "join", fork: "look", strategy: "all-pass" },
    done: { type: "end", result: "success" },
    lost: { type: "end", result: "failure" },
  },
  edges: [
    { from: "start", to: "look" },
    ...["logs", "history"].flatMap((from) => [{ from: "look", to: from }, { from, to: "seen" }, { from, to: "seen", on: "failed" }]),
    { from: "seen", to: "done", on: "passed" },
    { from: "seen", to: "lost", on: "failed" },
  ],
};
// Of one state the answer has a price and a usage, of the other one neither.
// Each answer of the first state has a usage, and so a price; that of the second one has none.
const TOLD = `mcpServers:
  say: { builtin: echo }
states:
  look: { objective: Look at the charts, tools: [say/echo] }
  tell: { objective: Say what portolan charts show }
transitions: { look: tell }
`;
const ANSWERS = `- for: look
  text: I look at the coasts.
  tool_calls: [{ name: say_echo, arguments: { message: coasts } }]
  usage: { input: 12000, output: 345 }
- for: look
  text: They show coasts.
  usage: { input: 13000, output: 655 }
- for: tell
  text: Portolan charts show coasts.
`;

prepare((project) => {
  project.write(".flow/workflows/round.json", JSON.stringify(ROUND));
  project.write(".flow/workflows/both.json", JSON.stringify(BOTH));
  project.write(".flow/workflows/told.yaml", TOLD);
  project.write("answers.yaml", ANSWERS);
  project.write(".portolan/prices.yaml", `prices:\n  "scripted:${project.path}/answers.yaml": { input: 3, output: 15 }\n`);
});

const edge = (page, id) => page.locator(`[data-edge="${id}"]`);
const taken = (page, id, words) => edge(page, id).locator("text", { hasText: words }).waitFor({ state: "attached" });
const details = (page) => page.locator("aside[aria-label=Details]");

inPage("an edge that was taken several times has its number, then and at each earlier moment", async (page, said) => {
  const agent = await project.agent().begin();
  const run = await agent.open("round", "go round");
  await page.goto(studio.at(`/run/${run}`));
  await page.waitForSelector(".badge");
  // The page counts along while the run goes on.
  for (const times of [1, 2, 3]) {
    await agent.next("passed");
    if (times > 1) await taken(page, "fix->check", new RegExp(`^×${times}$`));
    else await page.locator('[data-edge="fix->check"] .was-taken').waitFor({ state: "attached" });
    await agent.next("again");
  }
  agent.end();
  await taken(page, "check->fix", /^Once more +×3$/);
  await taken(page, "fix->check", /^×3$/);
  // Once is no number, and an edge that was not taken is paler.
  assert.equal(await edge(page, "start->fix").locator("text").count(), 0);
  assert.equal(await page.locator('[data-edge="start->fix"] .was-taken').count(), 1);
  assert.equal(await page.locator('[data-edge="check->done"] .untaken').count(), 1);
  await soundIn(page, said, "edges that are counted");
  const { head } = await studio.ask(`/runs/${run}`);
  await page.goto(studio.at(`/run/${run}@${head - 1}`));
  await taken(page, "check->fix", /^Once more +×2$/);
  await taken(page, "fix->check", /^×3$/);
  await page.goto(studio.at(`/run/${run}@2`));
  await taken(page, "check->fix", /^Once more$/);
  assert.equal(await edge(page, "fix->check").locator("text").count(), 0);
});

inPage("a join says how many of its branches have arrived, and no longer when all of them have", async (page, said) => {
  const agent = await project.agent().begin();
  const run = await agent.open("both", "look everywhere");
  const report = async (branch) => {
    const action = agent.told.actions.required.find((action) => action.arguments.branch === branch);
    agent.told = await agent.call("Next", action.arguments);
  };
  await page.goto(studio.at(`/run/${run}?node=seen`));
  const bar = page.locator('.react-flow__node[data-id="seen"] .bar-arrived');
  await page.waitForSelector(".badge");
  await report("history");
  await bar.filter({ hasText: "1/2 arrived" }).waitFor();
  // The panel says it in the same words.
  await details(page).locator(".state-line", { hasText: "1/2 arrived" }).waitFor();
  await soundIn(page, said, "a join that waits");
  const { head } = await studio.ask(`/runs/${run}`);
  await report("logs");
  agent.end();
  await page.waitForSelector(".work-head :text('success')");
  await details(page).locator(".state-line", { hasText: "done" }).waitFor();
  await bar.waitFor({ state: "detached" });
  // At the moment before, one of them is out again.
  await page.goto(studio.at(`/run/${run}@${head}?node=seen`));
  await bar.filter({ hasText: "1/2 arrived" }).waitFor();
});

inPage("a step that a model works on shows its calls, its tokens and its cost; what is not known is no amount", async (page, said) => {
  const { run } = await studio.post("/definitions/told/try", { input: {}, model: `scripted:${project.path}/answers.yaml` });
  await page.goto(studio.at(`/run/${run}?node=look`));
  await page.waitForSelector(".work-head :text('success')");
  const spent = (words) => details(page).locator(".visit > p.dim", { hasText: words });
  // 25,000 tokens at $3 and 1,000 at $15 a million.
  await spent("25,000 input tokens · 1,000 output tokens · $0.0900").waitFor();
  assert.match(await spent("tokens").textContent(), /2 model calls · 1 tool call/);
  // The call of the tool stands among the messages.
  const messages = details(page).locator(".messages li");
  await messages.filter({ hasText: "say_echo" }).first().waitFor();
  await messages.filter({ hasText: "They show coasts." }).waitFor();
  await soundIn(page, said, "what a step cost");
  await page.goto(studio.at(`/run/${run}?node=tell`));
  await spent("1 model call").waitFor();
  assert.doesNotMatch(await spent("1 model call").textContent(), /\$|\d (in|out)put tokens/);
});

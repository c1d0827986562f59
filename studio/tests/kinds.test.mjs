// A run of each kind is watched to its end in a real browser, and each of its moments is what the server says.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after } from "node:test";
import { soundIn } from "./browser.mjs";
import { inPage, picture, prepare, project, studio } from "./suite.mjs";

/** A model that says half of its answer, and the rest when `goOn` is called. */
let goOn;
const model = createServer((_, response) => {
  const say = (content, more = {}) => response.write(`data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", model: "m", choices: [{ index: 0, delta: { content }, finish_reason: null, ...more }] })}\n\n`);
  response.setHeader("content-type", "text/event-stream");
  say("Portolan charts show ");
  goOn = () => {
    say("coasts.", { finish_reason: "stop" });
    response.end("data: [DONE]\n\n");
  };
});
await new Promise((listening) => model.listen(0, "127.0.0.1", listening));
after(() => model.close());

prepare((project) => {
  project.env.OPENAI_API_KEY = "none";
  project.write(".flow/workflows/tell.yaml", "name: tell\nstates:\n  tell: { objective: Say what portolan charts show }\n");
  project.example("examples/activities/follow-up.yaml", "follow-up.yaml");
  project.example("examples/agent-states/research", "research");
  project.write(".flow/workflows/ship.yaml", "id: ship\ntitle: Ship\nphases:\n  - { id: plan, prompt: Say what is wanted. }\n  - { id: build, prompt: Build it. }\n  - { id: test, prompt: Test it., back: build }\n");
});

/** The page of a run, once it shows where the run is. */
async function watch(page, run) {
  await page.goto(studio.at(`/run/${run}`));
  await page.waitForSelector(".badge");
}

/** The page has followed the run to its last record, and the slider goes through all of them. */
async function followed(page, run) {
  const { head, over, status } = await studio.ask(`/runs/${run}`);
  assert.ok(over);
  await page.waitForSelector(`.work-head :text('${status}')`);
  await page.waitForFunction((head) => document.querySelector(".slider-place b")?.textContent === String(head), head);
  await page.locator("input[type=range]").focus();
  for (let seq = head - 1; seq >= 1; seq -= 1) {
    await page.keyboard.press("ArrowLeft");
    const moment = await studio.ask(`/runs/${run}/at/${seq}`);
    const here = Object.entries(moment.overlay.nodes).filter(([, node]) => node.state === "here").length;
    await page.waitForFunction(([seq, here]) => location.hash.includes(`@${seq}`) && document.querySelectorAll(".node > .badges .badge.here").length <= here, [seq, here]);
  }
  return status;
}

inPage("activities", async (page, said) => {
  const agent = await project.agent().begin();
  const run = await agent.open("follow-up", "file what was put off");
  await watch(page, run);
  let told = agent.told;
  while (told.state !== "ended") told = await agent.next("passed");
  agent.end();
  assert.equal(await followed(page, run), "success");
  await soundIn(page, said, "activities");
});

inPage("phases", async (page, said) => {
  const agent = await project.agent().begin();
  const run = await agent.open("ship", "ship it");
  await watch(page, run);
  await agent.next("passed");
  await agent.next("passed");
  await agent.next("failed");
  let told = agent.told;
  while (told.state !== "ended") told = await agent.next("passed");
  agent.end();
  assert.equal(await followed(page, run), "success");
  const { overlay } = await studio.ask(`/runs/${run}/at/${(await studio.ask(`/runs/${run}`)).head}`);
  assert.deepEqual([overlay.nodes.build.visits, overlay.nodes.test.visits], [2, 2]);
  await soundIn(page, said, "phases");
});

inPage("states that a model works on", async (page, said) => {
  const model = `scripted:${project.path}/.flow/workflows/research/answers.yaml`;
  const begun = await studio.post("/definitions/research/try", { input: { topic: "portolan charts" }, model });
  assert.ok(begun.run, JSON.stringify(begun));
  await watch(page, begun.run);
  await page.waitForSelector(".work-head :text('success')");
  await page.locator(".node", { hasText: "write" }).first().waitFor();
  await page.goto(studio.at(`/run/${begun.run}?node=write`));
  await page.waitForSelector(".messages li");
  await picture(page, "model");
  await soundIn(page, said, "states");
  assert.equal(await followed(page, begun.run), "success");
});

inPage("a model is heard while it speaks", async (page, said) => {
  const begun = await studio.post("/definitions/tell/try", { input: {}, model: `openai:m@http://127.0.0.1:${model.address().port}/v1`, paused: true });
  assert.ok(begun.run, JSON.stringify(begun));
  await page.goto(studio.at(`/run/${begun.run}?node=tell`));
  await page.waitForSelector(".badge");
  // What is said before anybody listens is heard by nobody.
  await page.waitForSelector(".top-bar :text('Live')");
  await studio.post(`/runs/${begun.run}/control`, { do: "resume" });
  await page.waitForSelector(".saying :text('Portolan charts show')");
  await soundIn(page, said, "a model that speaks");
  goOn();
  await page.waitForSelector(".work-head :text('success')");
  await page.waitForSelector(".messages :text('Portolan charts show coasts.')");
  await page.waitForSelector(".saying", { state: "detached" });
});

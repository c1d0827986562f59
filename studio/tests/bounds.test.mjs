// What is too much, broken, gone or hostile, as it is seen, with the real server: definitions of many nodes, texts that cannot be
// read, a run whose definition was deleted, a journal of a hundred thousand records, a disk that is full, a stream that is cut off.
import assert from "node:assert/strict";
import { accessSync, constants, readdirSync, unlinkSync } from "node:fs";
import { soundIn } from "./browser.mjs";
import { front } from "./front.mjs";
import { Project, Studio } from "./project.mjs";
import { inPage, prepare, project, studio } from "./suite.mjs";

const MARKUP = "<img src=x onerror=alert(1)>";
const small = (more = {}) => ({ name: "Small", nodes: { start: { type: "start" }, work: { type: "task", instructions: "Do it." }, done: { type: "end", result: "success" } }, edges: [{ from: "start", to: "work" }, { from: "work", to: "done" }], ...more });

function chain(count) {
  const nodes = { start: { type: "start" } };
  const edges = [];
  let last = "start";
  for (let nth = 2; nth < count; nth += 1) {
    nodes[`task_${nth}`] = { type: "task" };
    edges.push({ from: last, to: `task_${nth}` });
    last = `task_${nth}`;
  }
  nodes.done = { type: "end", result: "success" };
  edges.push({ from: last, to: "done" });
  return JSON.stringify({ name: `Chain of ${count}`, nodes, edges }, null, 1);
}

const COUNT = `version: "1.0"
server: {name: count, version: "1"}
executionLimits: {maxNodeExecutions: 200000, maxExecutionTimeMs: 3600000}
tools:
  - name: count
    description: Counts
    inputSchema: {type: object, properties: {to: {type: integer}}, required: [to]}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: more}
      - {id: more, type: transform, transform: {expr: '{"n": $exists($.more) ? $.more.n + 1 : 1}'}, next: enough}
      - id: enough
        type: switch
        conditions:
          - {rule: {"<": [{var: more.n}, {var: entry.to}]}, next: more}
        next: told
      - {id: told, type: transform, transform: {expr: '{"n": $.more.n}'}, next: exit}
      - {id: exit, type: exit}
`;

prepare((project) => {
  project.write(".flow/workflows/small.json", JSON.stringify(small(), null, 2));
  project.write(".flow/workflows/gone.json", JSON.stringify(small({ name: MARKUP })));
  project.write(".flow/workflows/nine.json", chain(9_000));
  project.write(".flow/workflows/many.json", chain(10_001));
  project.write(".flow/workflows/broken.yaml", 'version: "1.0"\ntools:\n  - name: [a,\n    nodes: }\n');
  project.write(".flow/workflows/hollow/workflow.yaml", "id: hollow\nversion: 1.0.0\ntitle: Hollow\ninitialActivity: start\n");
});

const graphless = (page) => page.waitForSelector(".pane.middle :text('No graph can be drawn')");

inPage("a definition of 9,000 nodes opens; one of more than 10,000 says that it has too many, and what to do", async (page, complaints) => {
  await page.goto(studio.at("/definition/nine"));
  await page.waitForSelector(".node");
  await page.goto(studio.at("/definition/many"));
  await graphless(page);
  const told = await page.locator(".pane.middle .notice").textContent();
  assert.match(told, /the workflow has 10001 nodes, more than the limit of 10000.*move parts of it into subflows/s);
  await soundIn(page, complaints, "too many nodes");
});

inPage("a definition that leaves nothing to draw says why", async (page, complaints) => {
  await page.goto(studio.at("/definition/broken"));
  await graphless(page);
  assert.match(await page.locator(".pane.middle .notice").textContent(), /not valid YAML.*line 4/s);
  await soundIn(page, complaints, "broken");
});

inPage("a workflow without activities is drawn from its start to its end, with its faults", async (page, complaints) => {
  await page.goto(studio.at("/definition/hollow"));
  await page.waitForSelector(".node");
  const { problems } = await studio.ask("/definitions/hollow");
  assert.ok(problems.some((problem) => /has no `activities`/.test(problem.message)), JSON.stringify(problems));
  await soundIn(page, complaints, "hollow");
});

inPage("a run whose definition was deleted is shown, and names that are markup are texts", async (page, complaints) => {
  const agent = await project.agent().begin();
  const run = await agent.open("gone", MARKUP);
  await agent.next("passed");
  agent.end();
  unlinkSync(`${project.path}/.flow/workflows/gone.json`);
  await page.goto(studio.at(`/run/${run}`));
  await page.waitForSelector(".node");
  await page.waitForSelector(`h1:text-is("${MARKUP}")`);
  await soundIn(page, complaints, "a run without its definition");
  await page.goto(studio.at("/"));
  await page.waitForSelector(`text=${run}`);
  await page.goto(studio.at("/definition/gone"));
  await page.waitForSelector("[role=alert]");
  assert.equal(await page.locator("img").count(), 0);
  await soundIn(page, complaints, "a definition that is gone");
});

/** A folder in memory, where there is one: a hundred thousand records are as many writes that reach the disk. */
function inMemory() {
  try {
    accessSync("/dev/shm", constants.W_OK);
    return "/dev/shm";
  } catch {
    return undefined;
  }
}

inPage("a run of a hundred thousand records opens, scrolls, and goes to any of them", async (page, complaints, t) => {
  const long = new Project(project.binary, inMemory());
  let there;
  try {
    long.write(".flow/workflows/count.yaml", COUNT);
    long.commit();
    const run = /run ([a-z0-9]+)/.exec(long.says("run", ".flow/workflows/count.yaml", "to=50000", "--durable"))?.[1];
    there = await long.studio();
    const timed = async (what, act) => {
      const began = performance.now();
      await act();
      t.diagnostic(`${what}: ${(performance.now() - began).toFixed(0)} ms`);
    };
    let pages = 0;
    page.on("request", (request) => request.url().includes("/records?") && pages++);
    await timed("opening", async () => {
      await page.goto(there.at(`/run/${run}`));
      await page.waitForSelector(".node .badge");
    });
    const { head } = await there.ask(`/runs/${run}`);
    assert.ok(head >= 100_000, `${head}`);
    const at = (seq) => page.waitForFunction((seq) => document.querySelector(".slider-place b")?.textContent === seq.toLocaleString("en") && document.querySelector(".pane.middle [aria-label^='Graph of']")?.getAttribute("aria-label").includes(`record ${seq} of`), seq);
    const slider = page.locator("input[type=range]");
    const visited = (seq, visits) => page.waitForFunction((visits) => [...document.querySelectorAll(".node")].some((node) => node.textContent.includes("more") && (visits === 0 ? !/×/.test(node.textContent) : node.textContent.includes(String(visits)))), visits, { timeout: 30_000 });
    for (const seq of [1, head / 2, head].map(Math.floor)) {
      await timed(`a jump to record ${seq}`, async () => {
        await slider.fill(String(seq));
        await at(seq);
        // What is on screen is that moment.
        const { overlay } = await there.ask(`/runs/${run}/at/${seq}`);
        await visited(seq, overlay.nodes.more?.visits > 1 ? overlay.nodes.more.visits : 0);
      });
    }
    // The last visits are the last of all, by their numbers, too.
    const { overlay } = await there.ask(`/runs/${run}/at/${head}`);
    const { visits } = overlay.nodes.more;
    assert.ok(visits > 1_000, `${visits}`);
    await page.goto(there.at(`/run/${run}?node=more`));
    await page.getByText(`Visit ${visits}`, { exact: true }).waitFor();
    await page.getByText(`${(visits - 50).toLocaleString("en")} earlier visits not shown`).waitFor();
    const list = page.getByRole("listbox", { name: "Records" });
    // It has asked for what is seen, and shows no more than that.
    assert.ok(pages <= 8, `${pages} pages of records`);
    assert.ok((await page.locator(".record").count()) < 60);
    await timed("the timeline, to its middle", async () => {
      await list.evaluate((list) => (list.scrollTop = list.scrollHeight / 2));
      await page.waitForFunction(() => [...document.querySelectorAll(".record:not(.blank) .record-seq")].some((seq) => Math.abs(Number(seq.textContent) - 50_000) < 200));
    });
    await soundIn(page, complaints, "a long run");
  } finally {
    await there?.kill();
    long.remove();
  }
});

inPage("a disk that is full: the save is refused, the page keeps the edit, and the file is as it was", async (page, complaints) => {
  const tight = new Project(project.binary);
  let there;
  try {
    // Larger than any file that this studio may write.
    const text = JSON.stringify(small({ description: "x".repeat(100_000) }), null, 2);
    tight.write(".flow/workflows/small.json", text);
    tight.commit();
    there = await Studio.start(tight, [], ["sh", "-c", "trap '' XFSZ; ulimit -f 128; exec \"$0\" \"$@\""]);
    const folder = () => readdirSync(`${tight.path}/.flow/workflows`).sort();
    const before = folder();
    await page.goto(there.at("/definition/small?node=work"));
    await page.waitForSelector(".node.selected");
    const field = page.locator(".pane.right").getByLabel(/instructions/i);
    await field.fill("Do it twice.");
    await field.blur();
    await page.keyboard.press("Control+s");
    await page.locator("dialog .primary").click();
    const refused = page.locator("dialog .inline-failure");
    await refused.waitFor();
    assert.match(await refused.textContent(), /small\.json.*cannot be written.*space left; nothing was changed/s);
    await soundIn(page, complaints, "a save that was refused");
    await page.keyboard.press("Escape");
    await page.waitForSelector(".work-head button:text-is('Save…')");
    assert.equal(await field.inputValue(), "Do it twice.");
    assert.equal(tight.read(".flow/workflows/small.json"), text);
    assert.deepEqual(folder(), before);
  } finally {
    await there?.kill();
    tight.remove();
  }
});

inPage("connections that die without a word are begun anew, and nothing is missing", async (page, complaints) => {
  const agent = await project.agent().begin();
  const run = await agent.open("small", "make it so");
  // All that the page says to the server goes through here, and is cut off in the middle.
  const between = await front(studio.base);
  let again;
  try {
    await page.goto(`${between.base}#/run/${run}&token=${studio.token}`);
    await page.waitForSelector(".top-bar :text('Live')");
    const { head } = await studio.ask(`/runs/${run}`);
    between.close();
    await page.waitForSelector(".top-bar :text('Live')", { state: "detached" });
    await agent.next("passed");
    again = await front(studio.base, between.port);
    await page.waitForSelector(".work-head :text('success')");
    const now = (await studio.ask(`/runs/${run}`)).head;
    assert.ok(now > head);
    await page.waitForFunction((now) => document.querySelector(".slider-place b")?.textContent === String(now), now);
    await page.waitForSelector(".top-bar :text('Live')");
    await soundIn(page, complaints, "live again");
  } finally {
    agent.end();
    again?.close();
  }
});

// The page with the real server, in a real browser. PORTOLAN names the binary, PICTURES a folder for pictures of the screens.
import assert from "node:assert/strict";
import { test } from "node:test";
import { open, soundIn } from "./browser.mjs";
import { browser, inPage, picture, prepare, project, studio } from "./suite.mjs";

prepare((project) => {
  project.example("examples/navigator/release/release.json", "release.json");
  project.example("examples/activities/work-package", "work-package");
  project.example("examples/activities/follow-up.yaml", "follow-up.yaml");
  project.example("examples/tool-graphs/inventory.yaml", "inventory.yaml");
  project.example("examples/agent-states/research", "research");
  project.example("crates/portolan-runtime/catalog/phases/delivery.yaml", "delivery.yaml");
  project.believe("bug-fix");
  project.write("notes.txt", "twelve bytes");
});

const DEFINITIONS = { release: 9, "work-package": 60, inventory: 6, research: 3, delivery: 12, "bug-fix": 11 };

for (const [id, least] of Object.entries(DEFINITIONS)) {
  inPage(`the definition ${id} is drawn, with every node in the outline`, async (page, said) => {
    await page.goto(studio.at(`/definition/${id}`));
    await page.waitForSelector(".node, canvas");
    const drawn = await studio.ask(`/definitions/${id}`);
    assert.ok(drawn.drawing.nodes.length >= least, `${drawn.drawing.nodes.length} nodes`);
    assert.deepEqual(drawn.problems.filter((problem) => problem.severity === "error"), []);
    await soundIn(page, said, id);
  });
}

for (const colorScheme of ["light", "dark"]) {
  inPage(
    `every screen is sound: ${colorScheme}`,
    async (page, said) => {
      const agent = await project.agent().begin();
      const run = await agent.open("bug-fix", "the login fails");
      for (const outcome of ["passed", "passed", "passed", "failed"]) await agent.next(outcome);
      agent.end();
      const screens = { home: ["/", ".entry.definition"], definition: ["/definition/release?node=test", ".node"], run: [`/run/${run}`, ".work-text a"], time: [`/run/${run}@3`, ".badge"], compare: [`/compare/${run}@2/${run}@5`, ".diff-words"], inbox: ["/inbox", "main"], project: ["/project", ".project-facts"] };
      for (const [name, [route, ready]] of Object.entries(screens)) {
        await page.goto(studio.at(route));
        await page.waitForSelector(ready);
        await soundIn(page, said, `${name}, ${colorScheme}`);
        // That of the home screen has more runs: `halts.test.mjs`.
        if (colorScheme === "light" && name !== "home") await picture(page, name);
      }
    },
    { colorScheme, reducedMotion: "reduce" },
  );
}

inPage("a run is watched to its end while an agent walks it in another process", async (page) => {
  const agent = await project.agent().begin();
  const run = await agent.open("bug-fix", "the login fails");
  await page.goto(studio.at(`/run/${run}`));
  await page.waitForSelector(".badge");
  const began = Date.now();
  let told = agent.told;
  while (told.state !== "ended") {
    told = await agent.next("passed");
    assert.ok(Date.now() - began < 60_000, "it comes to an end");
  }
  agent.end();
  await page.waitForSelector(".work-head :text('success')");
  const { head } = await studio.ask(`/runs/${run}`);
  await page.waitForFunction((head) => document.querySelector(".slider-place b")?.textContent === String(head), head);
});

inPage("a graph is watched to its end, and each moment of it can be seen", async (page) => {
  const answers = { list: { content: "[FILE] notes.txt" }, "size_of.info": { content: "size: 12" } };
  const begun = await studio.post("/definitions/inventory/try", { root: "inventory", input: {}, answers, paused: true });
  const { run } = begun;
  assert.ok(run, JSON.stringify(begun));
  await page.goto(studio.at(`/run/${run}`));
  await page.waitForSelector(".badge");
  for (;;) {
    const told = await studio.post(`/runs/${run}/control`, { do: "step" });
    if (told.phase !== "paused") break;
  }
  const { head, over } = await studio.ask(`/runs/${run}`);
  assert.ok(over);
  await page.waitForFunction((head) => document.querySelector(".slider-place b")?.textContent === String(head), head);
  await page.locator("input[type=range]").focus();
  for (let seq = head - 1; seq >= 1; seq -= 1) {
    await page.keyboard.press("ArrowLeft");
    await page.waitForFunction((seq) => location.hash.includes(`@${seq}`), seq);
  }
});

inPage("the slider shows each of five hundred records as the server folds it", async (page) => {
  project.write(
    ".flow/workflows/round.json",
    JSON.stringify({
      name: "Round",
      nodes: { start: { type: "start" }, fix: { type: "task" }, check: { type: "task", outputs: ["enough", "again"] }, done: { type: "end", result: "success" } },
      edges: [{ from: "start", to: "fix" }, { from: "fix", to: "check" }, { from: "check", to: "done", on: "enough" }, { from: "check", to: "fix", on: "again" }],
    }),
  );
  const agent = await project.agent().begin();
  const run = await agent.open("round", "go round");
  for (let nth = 0; nth < 249; nth += 1) {
    await agent.next("passed");
    await agent.next("again");
  }
  agent.end();
  const { head } = await studio.ask(`/runs/${run}`);
  assert.equal(head, 500);
  const { drawing } = await studio.post(`/runs/${run}/drawing`, {});
  const ids = drawing.nodes.map(({ id }) => id).sort();
  await page.goto(studio.at(`/run/${run}@1`));
  await page.waitForSelector(".badge");
  await page.click("role=tab[name=Situation]");
  // What is on the screen, in the words in which `told` says what the server folds.
  await page.evaluate(() => {
    window.seen = () => ({
      seq: document.querySelector(".slider-place b")?.textContent,
      words: document.querySelector("pre.words")?.textContent,
      nodes: Object.fromEntries(
        [...document.querySelectorAll(".react-flow__node")]
          .map((node) => {
            const badge = node.querySelector(".badges > .badge:not(.quiet)");
            const times = badge?.querySelector(".times")?.textContent ?? "";
            const marks = [...node.querySelectorAll(".badges > .badge.quiet")].map((mark) => mark.title);
            return [node.dataset.id, badge ? [badge.classList[1], badge.textContent.slice(0, badge.textContent.length - times.length), times, ...marks] : null];
          })
          .sort(([a], [b]) => (a < b ? -1 : 1)),
      ),
    });
  });
  const told = (seq, { words, overlay }) => ({
    seq: String(seq),
    words: words || "(nothing)",
    nodes: Object.fromEntries(
      ids.map((id) => {
        const node = overlay.nodes[id];
        return [id, node ? [node.state, node.state, node.visits > 1 ? `×${node.visits}` : "", ...(node.worst && node.worst !== node.state ? [`Earlier: ${node.worst}`] : [])] : null];
      }),
    ),
  });
  await page.locator("input[type=range]").focus();
  const most = { fix: 0, check: 0 };
  for (let seq = 1; seq <= head; seq += 1) {
    const moment = await studio.ask(`/runs/${run}/at/${seq}`);
    assert.equal(moment.seq, seq);
    const expected = told(seq, moment);
    for (const id of Object.keys(most)) most[id] = Math.max(most[id], moment.overlay.nodes[id]?.visits ?? 0);
    await page.waitForFunction((expected) => JSON.stringify(window.seen()) === expected, JSON.stringify(expected), { timeout: 10_000 }).catch(async () => assert.deepEqual(await page.evaluate(() => window.seen()), expected, `record ${seq}`));
    if (seq < head) await page.keyboard.press("ArrowRight");
  }
  // It was something that changed: both steps were visited in every round.
  assert.deepEqual(most, { fix: 250, check: 249 });
});

inPage("a run whose definition changes says that it goes on with the one that it began with", async (page) => {
  const text = (title) =>
    JSON.stringify({
      name: "Short",
      nodes: { start: { type: "start" }, fix: { type: "task", name: title }, done: { type: "end", result: "success" } },
      edges: [{ from: "start", to: "fix" }, { from: "fix", to: "done" }],
    });
  project.write(".flow/workflows/short.json", text("Fix"));
  const agent = await project.agent().begin();
  const run = await agent.open("short", "be short");
  agent.end();
  await page.goto(studio.at(`/run/${run}`));
  await page.waitForSelector(".badge");
  assert.equal(await page.locator(".outdated").count(), 0);
  project.write(".flow/workflows/short.json", text("Mend"));
  await page.getByText("Its definition has changed since. This run goes on with the one that it began with.").waitFor();
  await page.getByRole("button", { name: "Branch onto the changed one…" }).click();
  assert.equal(await page.getByRole("dialog").getByLabel("Definition").inputValue(), "current");
  await page.locator("dialog .command", { hasText: `portolan runs fork ${run} --at 2 --definition current` }).waitFor();
});

inPage("a run is forked from a moment, and the fork goes on by itself", async (page) => {
  const agent = await project.agent().begin();
  const run = await agent.open("bug-fix", "the login fails");
  await agent.next("passed");
  await agent.next("passed");
  agent.end();
  const before = await studio.ask(`/runs/${run}/records`);
  await page.goto(studio.at(`/run/${run}@3`));
  await page.waitForSelector(".badge");
  await page.click("text=Branch from this record…");
  // Over another definition, a person does it in a terminal: there is a command, and nothing to press that could only fail.
  const create = page.locator("dialog button[type=submit]");
  await page.getByRole("dialog").getByLabel("Definition").selectOption("current");
  await page.locator("dialog .command", { hasText: `portolan runs fork ${run} --at 3 --definition current` }).waitFor();
  await page.getByRole("dialog").getByRole("button", { name: /^Copy/ }).waitFor();
  assert.ok(await create.isDisabled());
  await page.getByRole("dialog").getByLabel("Definition").selectOption("pinned");
  await create.click();
  await page.waitForSelector("text=branched from");
  const fork = new URL(page.url()).hash.match(/run\/([a-z0-9]+)/)[1];
  assert.notEqual(fork, run);
  const other = await project.agent().begin();
  other.told = await other.call("Current", { run: fork });
  await other.next("passed");
  other.end();
  await page.waitForFunction(() => document.querySelector(".slider-place b")?.textContent === "4");
  assert.deepEqual(await studio.ask(`/runs/${run}/records`), before);
});

inPage("a question is answered in the inbox", async (page) => {
  const agent = await project.agent().begin();
  const run = await agent.open("bug-fix", "the login fails");
  // Whatever fails as often as it may comes to a person.
  for (let nth = 0; nth < 40 && agent.told.state !== "waiting"; nth += 1) {
    const names = (agent.told.actions?.optional ?? []).concat(agent.told.actions?.required ?? []).map((action) => action.arguments.result);
    await agent.next(names.includes("failed") ? "failed" : "passed", "Ten logins with the reported account succeed, here and on the test server.");
  }
  agent.end();
  assert.equal(agent.told.state, "waiting");
  const { questions } = await studio.ask("/inbox");
  const asked = questions.find((question) => question.run === run);
  assert.ok(asked, "it waits in the inbox");
  await page.goto(studio.at("/inbox"));
  const question = page.locator(".question", { hasText: run });
  await question.waitFor();
  // What has changed is looked for when it is asked for.
  await question.getByText("What changed since the step began").click();
  await question.getByText("at commit").waitFor();
  await question.getByText("What changed since the step began").click();
  await picture(page, "inbox");
  assert.equal(asked.person, false);
  await question.locator("input[type=radio]").first().check();
  await question.getByText("Answer…").click();
  await question.getByText("Yes, answer").click();
  await question.waitFor({ state: "detached" });
});

test("the server is killed while somebody watches, and started anew: nothing that happened meanwhile is missing", async () => {
  let own = await project.studio();
  const { context, page } = await open(browser);
  try {
    const agent = await project.agent().begin();
    const run = await agent.open("bug-fix", "the login fails");
    await page.goto(own.at(`/run/${run}`));
    await page.waitForSelector(".badge");
    await own.kill();
    await page.waitForSelector(".banner.bad");
    await agent.next("passed");
    await agent.next("passed");
    own = await project.studio("--port", own.port);
    // Another start has another token: the page says where its address is, and takes it up in place.
    await page.waitForSelector("text=does not know this page");
    await page.goto(own.at(`/run/${run}`));
    await page.waitForFunction(() => document.querySelector(".slider-place b")?.textContent === "4");
    await agent.next("passed");
    agent.end();
    await page.waitForFunction(() => document.querySelector(".slider-place b")?.textContent === "5");
  } finally {
    await context.close();
    await own.kill();
  }
});

inPage("a definition is edited by keyboard, and exactly the lines of the edits are written", async (page) => {
  await page.goto(studio.at("/definition/release?node=write_notes"));
  await page.waitForSelector(".node.selected");
  const graph = page.locator("[data-graph]");
  const closed = () => page.waitForSelector("dialog", { state: "detached" });
  await graph.focus();
  await page.keyboard.press("F2");
  await page.waitForSelector("dialog[open]");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Control+a");
  await page.keyboard.type("notes");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("node=notes"));
  await closed();
  await graph.focus();
  await page.keyboard.press("a");
  await page.waitForSelector("dialog[open]");
  await page.keyboard.type("A second look");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("node=a_second_look"));
  await closed();
  // What was added is taken back.
  await page.keyboard.press("Control+z");
  await page.locator("aside[aria-label=Outline]").getByText("A second look", { exact: true }).waitFor({ state: "detached" });
  await page.waitForFunction(() => document.querySelectorAll(".node").length === 9);
  await page.locator("aside[aria-label=Outline]").getByText("Test", { exact: true }).click();
  // As messages call it, too.
  await page.locator(".field-label", { hasText: "Retries" }).getByText("maxRetries").waitFor();
  await page.getByLabel("Retries").fill("5");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".code-host")?.shadowRoot?.textContent.includes('"maxRetries": 5'));
  await page.keyboard.press("Control+s");
  await page.waitForSelector("dialog[open] .diff-lines");
  // Of a changed line the change is marked.
  assert.deepEqual((await page.locator("dialog mark").allTextContents()).filter((text) => /^\d$/.test(text)), ["2", "5"]);
  await picture(page, "save");
  await page.locator("dialog .actions .primary").click();
  await closed();
  const changed = project.git("diff", "-U0").split("\n").filter((line) => /^[-+] /.test(line));
  assert.deepEqual(changed, [
    '-    "write_notes": {',
    '+    "notes": {',
    '-      "maxRetries": 2,',
    '+      "maxRetries": 5,',
    '-    { "from": "start", "to": "write_notes" },',
    '-    { "from": "write_notes", "to": "test" },',
    '+    { "from": "start", "to": "notes" },',
    '+    { "from": "notes", "to": "test" },',
    '-    { "from": "approve", "to": "write_notes", "on": "failed", "label": "Change the notes first" },',
    '+    { "from": "approve", "to": "notes", "on": "failed", "label": "Change the notes first" },',
  ]);
});

inPage("a file that somebody else has changed meanwhile is not written over", async (page) => {
  const file = ".flow/workflows/release.json";
  await page.goto(studio.at("/definition/release?node=test"));
  await page.waitForSelector(".node.selected");
  await page.getByLabel("Retries").fill("7");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".code-host")?.shadowRoot?.textContent.includes('"maxRetries": 7'));
  const theirs = project.read(file).replace(/"maxRetries": \d+/, '"maxRetries": 6');
  project.write(file, theirs);
  await page.keyboard.press("Control+s");
  await page.waitForSelector("dialog[open]");
  await page.locator("dialog .actions .primary").click();
  await page.waitForSelector("dialog .merge-side");
  await picture(page, "conflict");
  assert.equal(project.read(file), theirs);
  await page.locator("dialog .merge-side", { hasText: "Mine" }).first().click();
  await page.locator("dialog .actions .primary").click();
  await page.waitForSelector("dialog[open] .diff-lines");
  await page.locator("dialog .actions .primary").click();
  await page.waitForSelector("dialog", { state: "detached" });
  assert.match(project.read(file), /"maxRetries": 7/);
});

inPage("names that are markup stay text, everywhere", async (page, said) => {
  const name = "<img src=x onerror=alert(1)>";
  project.write(".flow/workflows/markup.json", JSON.stringify({ name, description: name, nodes: { start: { type: "start", name }, a: { type: "task", name, instructions: name }, done: { type: "end", result: "success", name } }, edges: [{ from: "start", to: "a" }, { from: "a", to: "done" }] }));
  const agent = await project.agent().begin();
  const run = await agent.open("markup", name);
  agent.end();
  for (const route of ["/", "/definition/markup?node=a", `/run/${run}`]) {
    await page.goto(studio.at(route));
    await page.waitForFunction((name) => document.body.textContent.includes(name), name);
    assert.equal(await page.evaluate(() => document.querySelectorAll("main img, main script").length), 0);
  }
  await soundIn(page, said, "markup");
});

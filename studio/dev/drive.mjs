// Drives the page by keyboard and mouse against the mock, and measures it. Exits with 1 when something does not hold.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
const port = 4900 + (process.pid % 90);
const only = process.argv[2];

async function startMock(env = {}) {
  const mock = spawn(process.execPath, [join(here, "mock.mjs"), String(port)], { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, MOCK_LIVE: "0", ...env } });
  await new Promise((resolve) => mock.stdout.once("data", resolve));
  return mock;
}

let mock = await startMock();
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
const address = (route) => `http://127.0.0.1:${port}/#${route}&token=mock`;
let failed = 0;

async function check(name, run, options = {}) {
  if (only && !name.includes(only)) return;
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  const said = [];
  page.on("console", (m) => m.type() === "error" && !/status of|ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY/.test(m.text()) && said.push(m.text()));
  page.on("pageerror", (e) => said.push(String(e)));
  page.on("dialog", (d) => (d.type() === "beforeunload" ? d.accept() : (said.push(`dialog: ${d.message()}`), d.dismiss())));
  try {
    const result = await run(page, context);
    assert.deepEqual(said, []);
    console.log(`ok    ${name}${result ? `: ${result}` : ""}`);
  } catch (error) {
    failed += 1;
    await page.screenshot({ path: join(here, "../.look/failed.png") }).catch(() => {});
    console.log(`FAILS ${name}: ${error.message.split("\n").slice(0, 6).join("\n      ")}`);
  }
  await context.close();
}

const active = (page) => page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.tagName);
const hash = (page) => page.evaluate(() => location.hash);

await check("the token leaves the address", async (page) => {
  await page.goto(address("/inbox"));
  await page.waitForSelector(".question");
  assert.equal(await hash(page), "#/inbox");
  await page.reload();
  await page.waitForSelector(".question");
});

await check("home: slash searches, arrows go through results", async (page) => {
  await page.goto(address("/"));
  await page.waitForSelector(".entry");
  await page.keyboard.press("/");
  assert.equal(await active(page), "Search definitions and runs");
  await page.keyboard.type("inventory");
  await page.waitForFunction(() => document.querySelectorAll(".entry.definition").length === 1);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".workbench");
});

await check("keys: help, go to screens", async (page) => {
  await page.goto(address("/"));
  await page.waitForSelector(".entry");
  await page.keyboard.press("?");
  await page.waitForSelector("dialog[open]");
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  await page.keyboard.press("g");
  await page.keyboard.press("i");
  await page.waitForSelector(".questions");
  await page.keyboard.press("g");
  await page.keyboard.press("p");
  await page.waitForSelector(".project-facts");
});

await check("graph: one tab stop, arrows walk, space folds", async (page) => {
  await page.goto(address("/definition/release"));
  await page.waitForSelector(".node");
  await page.locator("[data-graph]").focus();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown"]) await page.keyboard.press(key);
  assert.match(await hash(page), /node=(notes|patch|major)/);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowUp");
  assert.match(await hash(page), /node=scope/);
  const stops = await page.evaluate(() => document.querySelectorAll(".graph-keys [tabindex='0'], .graph-keys button:not([tabindex='-1'])").length);
  assert.equal(stops, 0);
  await page.evaluate(() => (location.hash = "#/definition/release?node=audit"));
  await page.waitForSelector(".node.selected.subflow");
  await page.locator("[data-graph]").focus();
  await page.keyboard.press("Space");
  await page.waitForSelector("text=Read the difference");
  await page.keyboard.press("Space");
  await page.waitForFunction(() => !document.body.textContent.includes("Read the difference"));
  await page.keyboard.press("Enter");
  assert.equal(await active(page), "Details");
});

await check("problem selects its node and its line", async (page) => {
  await page.goto(address("/definition/release"));
  await page.waitForSelector(".node");
  await page.click("role=tab[name=/Problems/]");
  await page.click("text=claims a tag but checks none");
  await page.waitForSelector(".node.selected.task");
  assert.match(await hash(page), /node=tag/);
  await page.click("role=tab[name=Source]");
  await page.waitForFunction(() => document.querySelector(".code-host").shadowRoot.querySelector(".cm-chosen")?.textContent.includes('"tag"'));
});

await check("source: a click selects the node", async (page) => {
  await page.goto(address("/definition/release"));
  await page.waitForFunction(() => document.querySelector(".code-host")?.shadowRoot?.querySelectorAll(".cm-line").length > 10);
  await page.locator(".code-host").getByText('"type"').nth(1).click();
  await page.waitForFunction(() => location.hash.includes("node="));
  assert.match(await hash(page), /node=plan/);
});

await check("hostile names stay text", async (page) => {
  await page.goto(address(`/definition/${encodeURIComponent("<img src=x onerror=alert(1)>")}`));
  await page.waitForSelector(".node");
  assert.equal(await page.evaluate(() => document.querySelectorAll("img, .node b i, script:not([src])").length), 0);
});

await check("run: slider, timeline, every moment", async (page) => {
  await page.goto(address("/run/r-500@173"));
  await page.waitForSelector(".badge");
  await page.locator("input[type=range]").focus();
  await page.keyboard.press("ArrowRight");
  assert.match(await hash(page), /r-500@174/);
  await page.keyboard.press("Home");
  assert.match(await hash(page), /r-500@1$/);
  await page.keyboard.press("End");
  assert.equal(await hash(page), "#/run/r-500");
  const began = Date.now();
  await page.evaluate(() => window.focus());
  for (let i = 0; i < 60; i++) await page.keyboard.press("ArrowLeft");
  const took = (Date.now() - began) / 60;
  assert.match(await hash(page), /r-500@440/);
  await page.click("role=tab[name=Situation]");
  await page.waitForSelector("text=Record 440 was");
  return `${took.toFixed(0)} ms a record`;
});

await check("run: a hundred thousand records", async (page) => {
  let pages = 0;
  page.on("request", (r) => r.url().includes("/records?") && pages++);
  await page.goto(address("/run/r-long@54321"));
  await page.waitForSelector("text=54321");
  await page.waitForSelector(".record:not(.blank)");
  assert.ok((await page.evaluate(() => document.querySelectorAll(".record").length)) < 60);
  assert.ok(pages <= 4, `${pages} pages`);
  return `${pages} pages loaded`;
});

await check("fork goes to the new run", async (page) => {
  await page.goto(address("/run/r-500@40"));
  await page.waitForSelector(".badge");
  await page.click("text=Branch from this record…");
  await page.click("dialog >> text=Change a value");
  await page.getByLabel("Name of the node or variable").fill("version");
  await page.waitForFunction(() => /^1\.\d+\.0$/.test(document.querySelector("dialog textarea").value));
  await page.click("dialog >> text=Write it as JSON instead");
  await page.fill("dialog textarea", "{ nonsense");
  assert.ok(await page.locator("dialog button[type=submit]").isDisabled());
  await page.fill("dialog textarea", '"2.0.0"');
  await page.click("dialog button[type=submit]");
  await page.waitForFunction(() => location.hash.includes("r-fork"));
  await page.waitForSelector("text=branched from");
});

/** Fills the form of the inventory in, begins, and waits until it is paused. */
async function tried(page, node) {
  await page.goto(address(`/try/inventory?node=${node}`));
  await page.waitForSelector(".node.selected");
  await page.getByLabel("depth").fill("2");
  await page.getByText("Answers that are written here").click();
  await page.getByLabel("list", { exact: true }).fill("{}");
  await page.locator("[data-graph]").focus();
  await page.keyboard.press("b");
  await page.getByText("Run it").click();
  await page.waitForSelector(".drive-bar :text('paused before')");
}

await check("try: a value is changed while it is paused", async (page) => {
  await tried(page, "any");
  await page.keyboard.press("v");
  await page.getByLabel("Node or variable").selectOption("version");
  await page.getByLabel("Its value from now on, as text").fill("9.9.9");
  await page.keyboard.press("Tab");
  await page.getByRole("button", { name: "Change it" }).click();
  await page.waitForSelector("dialog", { state: "detached" });
  await page.click("role=tab[name=Values]");
  await page.waitForSelector(".values >> text=9.9.9");
});

await check("try: a condition that cannot be evaluated is told; it steps over, and is saved as a test", async (page) => {
  await tried(page, "list");
  await page.click("role=tab[name=Outline]");
  await page.click(".outline-row:has-text('result')");
  await page.getByRole("tree").focus();
  await page.keyboard.press("b");
  await page.getByLabel("Only when").fill("? wrong");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".outline-row .stop-mark:has-text('break if')");
  await page.getByRole("tree").focus();
  await page.keyboard.press("o");
  await page.waitForSelector(".drive-bar :text('paused before Is there any?')");
  await page.keyboard.press("c");
  await page.waitForSelector(".drive-bar [role=alert]:has-text('cannot be evaluated')");
  await page.keyboard.press("c");
  await page.getByText("Save as a test…").click();
  await page.getByLabel("What the test shows").fill("one file");
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog pre:has-text('one file')");
});

await check("try: what the server says of a field stands at the field; an earlier run fills it in", async (page) => {
  await page.goto(address("/try/inventory"));
  await page.getByLabel("depth").fill("7");
  await page.keyboard.press("Control+Enter");
  await page.waitForFunction(() => document.activeElement?.closest(".edit-field")?.querySelector(".bad")?.textContent.includes("less than 7"));
  await page.getByRole("button", { name: "JSON" }).click();
  assert.match(await page.getByLabel("Input, as a JSON object").inputValue(), /"depth": 7/);
  await tried(page, "any");
  await page.keyboard.press("t");
  await page.waitForFunction(() => location.hash.includes("from="));
  await page.waitForSelector(".try-form");
  assert.equal(await page.getByLabel("depth").inputValue(), "2");
  assert.ok(await page.getByLabel("The answers of an earlier run").isChecked());
});

await check("expressions are evaluated while they are written, and names complete", async (page) => {
  await page.goto(address("/definition/release?node=test"));
  await page.waitForSelector(".node.selected");
  const field = page.getByLabel("Condition");
  await field.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.type("$.att");
  await page.waitForSelector("[role=listbox][aria-label=Names] [aria-selected=true]:has-text('attempts')");
  await page.keyboard.press("Tab");
  await page.waitForSelector(".evaluated:has-text('number 2')");
  assert.equal(await field.inputValue(), "$.attempts");
  assert.equal(await active(page), "TEXTAREA");
  await page.keyboard.type(" ? 1");
  await page.waitForSelector(".evaluated mark:has-text('?')");
  await page.keyboard.press("Control+a");
  await page.keyboard.type("v");
  await page.waitForSelector("[role=listbox][aria-label=Names]");
  await page.keyboard.press("Escape");
  await page.waitForSelector("[role=listbox][aria-label=Names]", { state: "detached" });
  assert.equal(await field.inputValue(), "v", "Escape closes the names, and nothing else");
  await page.getByLabel("Expressions are evaluated over").selectOption("own");
  await page.getByLabel("Values, as a JSON object").fill('{ "variables": { "v": [1] } }');
  await page.waitForSelector(".evaluated:has-text('[1]')");
});

await check("inbox: an answer is confirmed; where only a person's counts, there is the command", async (page) => {
  await page.goto(address("/inbox"));
  await page.waitForSelector(".question");
  const second = page.locator(".question").nth(1);
  assert.equal(await second.locator("form").count(), 0);
  assert.match(await second.textContent(), /portolan runs answer r-live --branch linux passed/);
  const first = page.locator(".question").first();
  await first.getByText("Keep the format").click();
  await first.getByText("Answer…").click();
  await page.waitForFunction(() => document.activeElement.textContent === "Yes, answer");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".question").length === 1);
});

await check("passkeys: one is made, and confirms an answer that only a person may give", async (page, context) => {
  const session = await context.newCDPSession(page);
  await session.send("WebAuthn.enable");
  await session.send("WebAuthn.addVirtualAuthenticator", { options: { protocol: "ctap2", transport: "internal", hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true } });
  const there = (route) => address(route).replace("127.0.0.1", "localhost");
  await page.goto(there("/passkey"));
  await page.getByLabel("Name").fill("laptop");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "The passkey is enrolled" }).waitFor();
  await page.goto(there("/inbox"));
  const question = page.locator(".question", { hasText: "r-live" });
  await question.locator("input[value=passed]").check();
  await question.getByText("Answer…").click();
  await page.waitForFunction(() => document.activeElement.textContent === "Confirm with a passkey");
  await page.keyboard.press("Enter");
  await page.getByRole("status").filter({ hasText: "r-live was answered: Publish" }).waitFor();
  await question.waitFor({ state: "detached" });
});

await check("the server goes away and comes back; the tabs share a stream", async (page, context) => {
  mock.kill();
  await new Promise((resolve) => mock.once("exit", resolve));
  mock = await startMock({ MOCK_LIVE: "200" });
  let streams = 0;
  context.on("request", (r) => r.url().endsWith("/events") && streams++);
  await page.goto(address("/run/r-live"));
  await page.waitForSelector(".badge");
  const other = await context.newPage();
  await other.goto(address("/run/r-live"));
  await other.waitForSelector(".badge");
  const place = (p) => p.evaluate(() => Number(document.querySelector(".slider-place b").textContent));
  const before = await place(other);
  await other.waitForFunction((n) => Number(document.querySelector(".slider-place b").textContent) > n + 2, before);
  assert.equal(streams, 1);
  mock.kill();
  await other.waitForSelector(".banner.bad");
  await page.waitForSelector(".banner.bad");
  mock = await startMock({ MOCK_LIVE: "200" });
  await other.waitForSelector(".banner.good", { timeout: 15000 });
  await page.close();
  const now = await place(other);
  await other.waitForFunction((n) => Number(document.querySelector(".slider-place b").textContent) !== n, now, { timeout: 15000 });
});

await check("a wrong token is a designed state", async (page) => {
  await page.goto(`http://127.0.0.1:${port}/#token=wrong`);
  await page.waitForSelector("text=Open the address that the terminal shows");
});

await check("a token pasted into an open tab is never read as a name", async (page) => {
  const asked = [];
  page.on("request", (r) => asked.push(r.url()));
  await page.goto(address("/"));
  await page.waitForSelector(".entry");
  await page.evaluate(() => (location.hash = "#/definition/research&token=mock"));
  await page.waitForSelector(".node");
  assert.equal(await hash(page), "#/definition/research");
  assert.ok(!asked.some((url) => url.split("#")[0].includes("token")), "the token is in a request");
});

await check("a server that was started anew has another token", async (page) => {
  await page.goto(address("/definition/research"));
  await page.waitForSelector(".node");
  mock.kill();
  await page.waitForSelector(".banner.bad");
  await page.screenshot({ path: join(here, "../.look/offline.png") });
  mock = await startMock({ MOCK_TOKEN: "other" });
  await page.waitForSelector("text=does not know this page", { timeout: 15000 });
  mock.kill();
  await new Promise((resolve) => mock.once("exit", resolve));
  mock = await startMock();
});

await check("dialogs", async (page) => {
  await page.goto(address("/run/r-500@40"));
  await page.waitForSelector(".badge");
  await page.keyboard.press("?");
  await page.waitForSelector("dialog[open]");
  await page.screenshot({ path: join(here, "../.look/keys.png") });
  await page.keyboard.press("Escape");
  await page.click("text=Branch from this record…");
  await page.screenshot({ path: join(here, "../.look/fork.png") });
}, { colorScheme: "dark" });

for (const [width, height, name] of [[1024, 700, "1024 px"], [640, 450, "200 % zoom"]]) {
  await check(`nothing is cut off: ${name}`, async (page) => {
    for (const route of ["/", "/definition/release?node=tag", "/run/r-500@173", "/inbox", "/project", "/compare/r-500@170/r-500@201"]) {
      await page.goto(address(route));
      await page.waitForTimeout(700);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth + Math.max(0, document.querySelector("main").scrollWidth - document.querySelector("main").clientWidth));
      await page.screenshot({ path: join(here, `../.look/${width}${route.replace(/\W+/g, "-")}.png`) });
      assert.ok(over <= 0, `${route} is ${over} px too wide`);
    }
  }, { viewport: { width, height } });
}

// Editing. Each check begins on a mock of its own, because what is saved stays.
const post = (path, body) => fetch(`http://127.0.0.1:${port}/api/v1${path}`, { method: "POST", headers: { Authorization: "Bearer mock", "Content-Type": "application/json" }, body: JSON.stringify(body) }).then((r) => r.json());
const onDisk = async (id) => (await fetch(`http://127.0.0.1:${port}/api/v1/definitions/${id}`, { headers: { Authorization: "Bearer mock" } }).then((r) => r.json())).files.map((f) => f.text);
async function freshMock() {
  mock.kill();
  await new Promise((resolve) => mock.once("exit", resolve));
  mock = await startMock();
}
async function editing(name, route, run, options) {
  if (only && !name.includes(only)) return;
  await freshMock();
  await check(name, async (page, context) => {
    await page.goto(address(route));
    await page.waitForFunction(() => document.querySelector(".node") && document.querySelector(".code-host")?.shadowRoot?.querySelectorAll(".cm-line").length > 3);
    await page.waitForFunction(() => document.querySelector(".link-state.live"));
    return run(page, context);
  }, options);
}
const graphOf = (page) => page.locator("[data-graph]");
const node = (page, name) => page.locator(".node", { has: page.locator(`.name:text-is("${name}")`) });
const closed = (page) => page.waitForSelector("dialog", { state: "detached" });
const nodes = (page, count) => page.waitForFunction((count) => new Set([...document.querySelectorAll(".outline [role=treeitem]")].map((e) => e.getAttribute("aria-setsize"))).has(String(count)), count);
const source = (page) => page.evaluate(() => document.querySelector(".code-host").shadowRoot.querySelector(".cm-content").innerText);
const has = (page, text) => page.waitForFunction((text) => document.querySelector(".code-host").shadowRoot.textContent.includes(text), text);
const saved = (page) => page.waitForSelector(".work-actions .primary:text-is('Saved')");
const box = async (page, name) => {
  const found = await node(page, name).boundingBox();
  return { ...found, cx: found.x + found.width / 2, cy: found.y + found.height / 2 };
};

await editing("edit: a keystroke is in the graph within 100 ms", "/definition/release?node=plan", async (page) => {
  await page.locator(".code-host").getByText("Plan the release").click();
  await page.keyboard.press("Home");
  for (let i = 0; i < 19; i++) await page.keyboard.press("ArrowRight");
  await page.evaluate(() => {
    globalThis.times = [];
    let pressed = 0;
    addEventListener("keydown", () => (pressed = performance.now()), true);
    let last = "";
    const look = () => {
      const name = document.querySelector(".node.selected .name")?.textContent ?? "";
      if (name !== last && last) times.push(performance.now() - pressed);
      last = name;
      requestAnimationFrame(look);
    };
    look();
  });
  await page.waitForTimeout(300);
  const typed = "abcdefghijklmnopqrstuvwxyzabcdefghijklmn";
  for (const letter of typed) {
    await page.keyboard.press(letter);
    await page.waitForTimeout(150);
  }
  await page.waitForFunction((typed) => document.querySelector(".node.selected .name").textContent.includes(typed), typed);
  const times = (await page.evaluate(() => globalThis.times)).sort((a, b) => a - b);
  assert.equal(times.length, typed.length);
  const p95 = times[Math.floor(times.length * 0.95)];
  assert.ok(p95 < 100, times.map((t) => t.toFixed(0)).join(" "));
  // Letters typed without a pause are one step.
  await page.keyboard.press("Control+z");
  await page.waitForFunction(() => document.querySelector(".node.selected .name").textContent === "Plan the release");
  await saved(page);
  return `median ${times[typed.length / 2].toFixed(0)} ms, 95 % ${p95.toFixed(0)} ms`;
});

await editing("edit: a syntax error leaves the last graph, greyed, with its place", "/definition/release?node=plan", async (page) => {
  await page.locator(".code-host").getByText('"agent"').first().click();
  await page.keyboard.press("End");
  await page.keyboard.type(" !");
  await page.waitForSelector(".pane.middle.stale");
  assert.ok((await page.locator(".node").count()) > 3);
  assert.match(await page.locator(".over-graph").textContent(), /line \d+/);
  assert.ok(await page.evaluate(() => document.querySelector(".code-host").shadowRoot.querySelector(".cm-lintRange-error, .cm-lintPoint-error, .cm-lint-marker-error") !== null));
  await page.keyboard.press("Control+z");
  await page.waitForSelector(".pane.middle:not(.stale)");
});

await editing("edit: by mouse: connect, lead elsewhere, delete an edge, add from the palette", "/definition/release?node=scope", async (page) => {
  await page.locator("[aria-label='Outline'] [role=treeitem]", { hasText: "Plan the release" }).first().click();
  const plan = await box(page, "Plan the release");
  const scope = await box(page, "Which kind of release?");
  // A handle appears on the node under the pointer.
  await page.mouse.move(plan.cx, plan.cy);
  await page.mouse.move(plan.cx, plan.y + plan.height);
  await page.mouse.down();
  await page.mouse.move(plan.cx + 60, plan.y + plan.height + 40, { steps: 4 });
  const patch = await box(page, "Collect the fixes");
  await page.mouse.move(patch.cx, patch.cy, { steps: 4 });
  await page.waitForSelector(".node.target");
  await page.mouse.up();
  await page.waitForFunction(() => document.querySelectorAll(".edge-list li").length === 2);
  // The new edge is led to another step by its end.
  await page.click(".edge-list li:has-text('Collect the fixes') button");
  const grip = await page.locator(".grip").boundingBox();
  const view = await box(page, "Write the release notes");
  await page.mouse.move(grip.x + grip.width / 2, grip.y + grip.height / 2);
  await page.mouse.down();
  await page.mouse.move(view.cx, view.cy, { steps: 6 });
  await page.mouse.up();
  await page.waitForFunction(() => document.querySelector("[aria-label=Details]").textContent.includes("Write the release notes"));
  // It is selected with a click on its line, and deleted.
  await page.waitForTimeout(250);
  await page.keyboard.press("Escape");
  const hits = await page.locator(".edge-hit").count();
  assert.ok(hits > 3);
  await page.locator("[aria-label='Outline'] [role=treeitem]", { hasText: "Plan the release" }).first().click();
  await page.click(".edge-list li:has-text('Write the release notes') button");
  await page.click("[aria-label=Details] .node-actions button:has-text('Delete')");
  await page.waitForFunction(() => document.querySelectorAll(".edge-list li").length === 1);
  // The palette puts a step into the selected edge.
  await page.click(".edge-list li button");
  await page.click(".palette summary");
  await page.click(".palette button:has-text('Gate')");
  await page.getByLabel(/^Id/).fill("gate");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("node=gate"));
  await has(page, '"gate"');
  assert.ok(scope.y > plan.y);
  for (let i = 0; i < 4; i++) {
    await page.keyboard.press("Control+z");
    await page.waitForTimeout(60);
  }
  await saved(page);
});

await editing("edit: a click on an edge selects it", "/definition/research", async (page) => {
  // This dialect is edited as text.
  assert.match(await page.locator(".work-text").textContent(), /edited as text/);
  assert.equal(await page.locator(".edge-hit, .handle").count(), 0);
  await page.goto(address("/definition/release?node=plan"));
  await page.waitForSelector(".edge-hit", { state: "attached" });
  const point = await page.locator(".edge-hit").first().evaluate((path) => {
    const at = path.getPointAtLength(path.getTotalLength() / 2);
    const screen = new DOMPoint(at.x, at.y).matrixTransform(path.getScreenCTM());
    return [screen.x, screen.y];
  });
  await page.mouse.click(...point);
  await page.waitForSelector("[aria-label=Details] h2:text-is('Edge')");
});

await editing("edit: everything by keyboard, and undone again", "/definition/release?node=approve", async (page) => {
  await page.waitForSelector(".node.selected");
  const before = (await onDisk("release"))[0];
  const graph = graphOf(page);
  await graph.focus();
  await page.keyboard.press("F2");
  await page.waitForSelector("dialog[open]");
  await page.keyboard.press("Tab");
  await page.keyboard.type("Not an id");
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog .inline-failure");
  assert.match(await page.locator("dialog .inline-failure").textContent(), /cannot be an id.*Letters/);
  await page.keyboard.press("Control+a");
  await page.keyboard.type("consent");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("node=consent"));
  await closed(page);
  assert.equal(await active(page), "Graph of Release");
  await page.keyboard.press("a");
  await page.waitForSelector("dialog[open]");
  await page.keyboard.type("Task");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /node=task/.test(location.hash));
  await closed(page);
  // Its form is filled in next; the keys of the graph are for whoever goes back to it.
  await page.waitForFunction(() => document.activeElement?.closest("[data-form]"));
  await graph.focus();
  await page.keyboard.press("c");
  await page.keyboard.type("announce");
  await page.keyboard.press("Enter");
  await closed(page);
  await page.waitForSelector(".edge-list li:has-text('Announce')");
  await page.keyboard.press("k");
  await page.waitForSelector("dialog[open]");
  await page.keyboard.type("gate");
  await page.keyboard.press("Enter");
  await closed(page);
  await page.waitForSelector("[aria-label=Details] .facts-head:has-text('gate')");
  await page.keyboard.press("e");
  await page.waitForSelector("[aria-label=Details] h2:text-is('Edge')");
  await page.selectOption("[aria-label=Details] select", "passed");
  await has(page, '"on": "passed"');
  await graph.focus();
  await page.keyboard.press("Delete");
  await page.waitForFunction(() => document.querySelectorAll(".edge-list li").length === 0);
  await page.keyboard.press("Control+d");
  await page.waitForFunction(() => /node=task-2/.test(location.hash));
  await page.keyboard.press("Delete");
  await page.waitForSelector("dialog[open]");
  await page.keyboard.press("Enter");
  await closed(page);
  await page.waitForFunction(() => !document.querySelector("[aria-label=Details]").textContent.includes("task-2"));
  await page.evaluate(() => (location.hash = "#/definition/release?node=tag"));
  await graph.focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement.closest("[data-form]"));
  assert.match(await page.evaluate(() => document.activeElement.labels[0].textContent), /Name/);
  await page.keyboard.press("Control+a");
  await page.keyboard.type("Tag it");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".node.selected .name:text-is('Tag it')");
  // From anywhere, also from a field: one step after another.
  for (let i = 0; i < 12 && !(await page.locator("[aria-label=Undo]").isDisabled()); i++) {
    await page.keyboard.press("Control+z");
    await page.waitForTimeout(90);
  }
  await saved(page);
  await has(page, "Tag the release");
  await page.keyboard.press("Control+Shift+z");
  await page.waitForSelector(".work-actions .primary:text-is('Save…')");
  await page.keyboard.press("Control+z");
  await saved(page);
  assert.equal((await onDisk("release"))[0], before);
});

await editing("edit: fields: a refusal stands at its field, JSON is read before it is sent", "/definition/release?node=tag", async (page) => {
  const asked = [];
  page.on("request", (r) => r.url().endsWith("/edit") && asked.push(r.postDataJSON().do));
  await page.locator("[data-form]").getByLabel("Accepted when").fill("{ not json");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector(".field-problem.bad");
  await page.keyboard.press("Escape");
  await page.getByLabel("Reads").fill("a.rs\n\nb.rs");
  await page.getByLabel("Retries").fill("many");
  await page.getByLabel("Agent").focus();
  await page.waitForSelector(".field-problem.bad:has-text('number')");
  await page.getByLabel("Retries").fill("3");
  await page.keyboard.press("Enter");
  await has(page, '"maxRetries": 3');
  await page.waitForTimeout(100);
  assert.deepEqual(asked, [{ is: "set", node: "tag", field: "reads", value: ["a.rs", "b.rs"] }, { is: "set", node: "tag", field: "maxRetries", value: 3 }]);
  await page.getByLabel("Retries").fill("");
  await page.keyboard.press("Enter");
  await page.waitForTimeout(150);
  assert.equal(asked.at(-1).value, null);
});

await editing("edit: the selected node stays where it is when the layout changes", "/definition/release?node=test", async (page) => {
  await page.waitForSelector(".node.selected");
  await page.waitForTimeout(400);
  const at = () => page.evaluate(() => {
    const { x, y } = document.querySelector(".node.selected").getBoundingClientRect();
    return [Math.round(x), Math.round(y)];
  });
  const before = await at();
  const places = page.evaluate(() => new Promise((resolve) => {
    const seen = [];
    const began = performance.now();
    const look = (now) => {
      const { x, y } = document.querySelector(".node.selected")?.getBoundingClientRect() ?? {};
      if (x !== undefined) seen.push([Math.round(x), Math.round(y)]);
      if (now - began < 900) requestAnimationFrame(look);
      else resolve(seen);
    };
    requestAnimationFrame(look);
  }));
  // A step far above is put in by somebody who types.
  const [text] = await onDisk("release");
  await post("/definitions/release/disk", { files: [{ name: "workflows/workflow.json", text: text.replace('"edges": [', '"edges": [\n    {"from": "plan", "to": "extra"}, {"from": "extra", "to": "scope"},').replace('"scope": {', '"extra": { "type": "task", "name": "Extra" },\n    "scope": {') }] });
  const seen = await places;
  await has(page, "Extra");
  assert.deepEqual(await at(), before);
  const worst = Math.max(...seen.map(([x, y]) => Math.hypot(x - before[0], y - before[1])));
  return `strays at most ${worst.toFixed(0)} px`;
});

await editing("edit: save shows the difference, and writes", "/definition/release?node=plan", async (page) => {
  await page.getByLabel("Agent").fill("ada");
  // What stands in a field counts, too.
  await page.keyboard.press("Control+s");
  await page.waitForSelector("dialog[open] .diff-lines");
  const lines = await page.locator("dialog .diff-lines :is(.left, .right)").allTextContents();
  assert.deepEqual(lines, ['−      "agent": "developer"', '+      "agent": "ada"']);
  await page.screenshot({ path: join(here, "../.look/save.png") });
  await page.keyboard.press("Enter");
  await closed(page);
  await saved(page);
  assert.match((await onDisk("release"))[0], /"agent": "ada"/);
  assert.equal(await page.locator(".banner").count(), 0);
});

await editing("edit: a conflict is for the person to settle, place by place", "/definition/release?node=plan", async (page) => {
  await page.getByLabel("Agent").fill("ada");
  await page.keyboard.press("Enter");
  await has(page, '"agent": "ada"');
  await page.locator("[aria-label='Outline'] [role=treeitem]", { hasText: "Tag the release" }).click();
  await page.getByLabel("Name").fill("Tag it");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".node.selected .name:text-is('Tag it')");
  const [before] = await onDisk("release");
  const theirs = before.replace('"agent": "developer"', '"agent": "editor"').replace('"name": "Announce it"', '"name": "Tell it"');
  await post("/definitions/release/disk", { files: [{ name: "workflows/workflow.json", text: theirs }] });
  await page.waitForSelector(".banner:has-text('changed on disk')");
  await page.keyboard.press("Control+s");
  await page.waitForSelector("dialog .merge-changed");
  await page.screenshot({ path: join(here, "../.look/conflict.png") });
  assert.ok(await page.locator("dialog .actions .primary").isDisabled());
  await page.locator("dialog .merge-changed", { hasText: "editor" }).locator("label:has-text('On disk')").click();
  await page.locator("dialog .actions .primary").click();
  await page.waitForSelector("dialog .diff-lines");
  assert.equal((await onDisk("release"))[0], theirs);
  await page.keyboard.press("Escape");
  await closed(page);
  // The editor holds the lines in its window only.
  await page.locator(".outline input").fill("Plan the");
  await page.keyboard.press("Enter");
  await page.locator(".outline input").fill("");
  await has(page, '"agent": "editor"');
  await page.keyboard.press("Control+z");
  await has(page, '"agent": "ada"');
  await page.keyboard.press("Control+Shift+z");
  await has(page, '"agent": "editor"');
  await page.keyboard.press("Control+s");
  await page.waitForSelector("dialog .diff-lines");
  await page.locator("dialog .actions .primary").click();
  await closed(page);
  await saved(page);
  const [after] = await onDisk("release");
  assert.match(after, /Tell it/);
  assert.match(after, /"agent": "editor"/);
});

await editing("edit: what is unsaved survives a reload, and is asked about", "/definition/release?node=plan", async (page) => {
  await page.getByLabel("Agent").fill("ada");
  await page.keyboard.press("Enter");
  await has(page, '"agent": "ada"');
  await page.reload();
  await page.waitForSelector(".banner:has-text('never saved')");
  await page.screenshot({ path: join(here, "../.look/kept.png") });
  await page.click("text=Take them up again");
  await has(page, '"agent": "ada"');
  await page.click("nav >> text=Home");
  await page.waitForSelector("dialog:has-text('Leave without saving')");
  assert.match(await hash(page), /definition\/release/);
  await page.click("dialog >> text=Stay");
  await closed(page);
  await page.click("nav >> text=Home");
  await page.locator("dialog .actions .primary").click();
  await page.waitForSelector(".entry");
  await page.evaluate(() => (location.hash = "#/definition/release"));
  await page.waitForSelector(".banner:has-text('never saved')");
  await page.click("text=Throw them away");
  await saved(page);
  await page.click("nav >> text=Home");
  await page.waitForSelector(".entry");
});

await editing("edit: a file that changes on disk is loaded where nothing is unsaved", "/definition/release?node=plan", async (page) => {
  await post("/definitions/release/disk", { from: "Plan the release", to: "Plan it well" });
  await page.waitForSelector(".node.selected .name:text-is('Plan it well')");
  await has(page, "Plan it well");
  await saved(page);
});

await editing("edit: several files are one document", "/definition/work-package", async (page) => {
  await page.click(".files button:has-text('late.json')");
  await has(page, "verify");
  await page.locator(".code-host").getByText('"Verify"', { exact: true }).first().click();
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.type(" it");
  await page.waitForSelector(".files button:has-text('late.json') >> text=unsaved");
  await page.waitForSelector(".node .name:text-is('Verify it'), .outline .name:text-is('Verify it')");
  await page.click(".files button:has-text('workflow.json')");
  await page.keyboard.press("Control+z");
  await saved(page);
});

await editing("edit: copied into another definition", "/definition/release?node=notes", async (page, context) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await graphOf(page).focus();
  await page.keyboard.press("Control+c");
  await page.evaluate(() => (location.hash = "#/definition/large?node=start"));
  await page.waitForSelector(".node.selected .name:text-is('Start')");
  await graphOf(page).focus();
  await page.keyboard.press("Control+v");
  await page.waitForFunction(() => location.hash.includes("node=notes"));
  await page.waitForSelector(".node.selected .name:text-is('Write the release notes')");
  await page.keyboard.press("Control+z");
  await saved(page);
});

await editing("edit: a refusal stands above the graph", "/definition/release?node=plan", async (page) => {
  await page.waitForTimeout(300);
  const plan = await box(page, "Plan the release");
  const start = await box(page, "Start");
  await page.mouse.move(plan.cx, plan.cy);
  await page.mouse.move(plan.cx, plan.y + plan.height);
  await page.mouse.down();
  await page.mouse.move(start.cx, start.cy, { steps: 6 });
  await page.mouse.up();
  await page.waitForSelector(".over-graph[role=alert]:has-text('Nothing leads to a start')");
  await saved(page);
});

await editing("edit: what cannot be written says so", "/definition/inventory?node=list", async (page) => {
  assert.match(await page.locator(".work-text").textContent(), /cannot|not changed|catalogue/);
  assert.deepEqual(await page.locator(".work-actions > *").allTextContents(), ["Try it"]);
  await page.locator(".code-host").getByText('"name"').first().click();
  await page.keyboard.type("x");
  await page.waitForTimeout(200);
  assert.ok(!(await source(page)).includes("x\""));
});

await check("measure: a graph of 1,027 nodes", async (page) => {
  await page.goto(address("/"));
  await page.waitForSelector(".entry");
  await page.evaluate(() => document.fonts.ready);
  const times = [];
  for (let i = 0; i < 5; i++) {
    await page.evaluate(() => (location.hash = "#/"));
    await page.waitForSelector(".entry");
    await page.waitForTimeout(300);
    times.push(await page.evaluate(() => new Promise((resolve) => {
      const began = performance.now();
      const look = () => (document.querySelectorAll(".node").length > 20 ? requestAnimationFrame(() => resolve(performance.now() - began)) : requestAnimationFrame(look));
      location.hash = "#/definition/large";
      look();
    })));
  }
  const server = await page.evaluate(async () => {
    const began = performance.now();
    const r = await fetch("./api/v1/definitions/large", { headers: { Authorization: "Bearer mock" } });
    await r.json();
    return performance.now() - began;
  });
  await page.waitForTimeout(1500);
  const frames = () => page.evaluate(() => new Promise((resolve) => {
    const pane = document.querySelector(".react-flow__pane, .react-flow__renderer");
    const stamps = [];
    const began = performance.now();
    let i = 0;
    const step = (now) => {
      stamps.push(now);
      const { x, y, width, height } = document.querySelector(".graph").getBoundingClientRect();
      pane.dispatchEvent(new WheelEvent("wheel", { deltaY: i++ % 80 < 40 ? 24 : -24, deltaX: 6, bubbles: true, cancelable: true, clientX: x + width / 2, clientY: y + height / 2 }));
      if (now - began < 2000) requestAnimationFrame(step);
      else {
        const gaps = stamps.slice(1).map((t, k) => t - stamps[k]).sort((a, b) => a - b);
        resolve({ fps: Math.round(1000 / (gaps.reduce((a, b) => a + b, 0) / gaps.length)), p95: Math.round(gaps[Math.floor(gaps.length * 0.95)]) });
      }
    };
    requestAnimationFrame(step);
  }));
  const near = await frames();
  await page.click("[aria-label='Show everything']");
  await page.waitForTimeout(600);
  await page.screenshot({ path: join(here, "../.look/large-far.png") });
  const far = await frames();
  return `open first ${times[0].toFixed(0)} ms, again ${times.slice(1).map((t) => t.toFixed(0)).join(" ")} ms (fetch alone ${server.toFixed(0)}); pan near ${near.fps} fps (p95 ${near.p95} ms), far ${far.fps} fps (p95 ${far.p95} ms)`;
});

await browser.close();
mock.kill();
process.exitCode = failed > 0 ? 1 : 0;

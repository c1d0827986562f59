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
  page.on("dialog", (d) => (said.push(`dialog: ${d.message()}`), d.dismiss()));
  try {
    const result = await run(page, context);
    assert.deepEqual(said, []);
    console.log(`ok    ${name}${result ? `: ${result}` : ""}`);
  } catch (error) {
    failed += 1;
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
  await page.goto(address("/definition/release?node=audit"));
  await page.waitForSelector(".node.selected");
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
  await page.click("text=Fork from here");
  await page.fill("dialog textarea", "{ nonsense");
  assert.ok(await page.locator("dialog button[type=submit]").isDisabled());
  await page.fill("dialog textarea", '{ "version": "2.0.0" }');
  await page.click("dialog button[type=submit]");
  await page.waitForFunction(() => location.hash.includes("r-fork"));
  await page.waitForSelector("text=forked from");
});

await check("inbox: an answer is confirmed; a person's is refused with the command", async (page) => {
  await page.goto(address("/inbox"));
  await page.waitForSelector(".question");
  const second = page.locator(".question").nth(1);
  await second.getByText("Publish", { exact: true }).click();
  await second.getByText("Answer…").click();
  await second.getByText("Yes, answer").click();
  await second.locator("[role=alert]").waitFor();
  assert.match(await second.textContent(), /portolan runs answer r-live --branch linux passed/);
  const first = page.locator(".question").first();
  await first.getByText("Keep the format").click();
  await first.getByText("Answer…").click();
  await page.waitForFunction(() => document.activeElement.textContent === "Yes, answer");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".question").length === 1);
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
  await page.click("text=Fork from here");
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

// Looks at every screen in a browser: screenshots into .look/, axe-core, violations of the policy, times.
// node dev/look.mjs [name…]
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "../.look");
mkdirSync(out, { recursive: true });
const port = 4100 + (process.pid % 800);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const only = process.argv.slice(2);

const SCREENS = {
  home: ["#/", ".entry"],
  definition: ["#/definition/release", ".node"],
  problems: ["#/definition/release?node=tag", ".node"],
  activities: ["#/definition/work-package?node=design%2Fcp", ".node"],
  tools: ["#/definition/inventory?node=list", ".node"],
  hostile: [`#/definition/${encodeURIComponent("<img src=x onerror=alert(1)>")}`, ".node"],
  large: ["#/definition/large", ".node"],
  run: ["#/run/r-500@173", ".badge"],
  live: ["#/run/r-live", ".badge"],
  runlarge: ["#/run/r-large", ".badge"],
  long: ["#/run/r-long@54321", ".badge"],
  compare: ["#/compare/r-500@170/r-500@201", ".diff-words"],
  inbox: ["#/inbox", ".question"],
  // Passkeys belong to this name.
  passkey: ["localhost#/inbox", ".question", async (page) => {
    await page.locator("input[value=passed]").check();
    await page.getByText("Answer…").last().click();
    await page.getByText("Confirm with a passkey").click();
    await page.waitForSelector("text=Cancel");
  }],
  enrol: ["localhost#/passkey", "main form"],
  project: ["#/project", ".project-facts"],
  edge: ["#/definition/release?node=plan", ".node.selected", async (page) => {
    await page.click(".edge-list button");
    await page.click(".palette summary");
  }],
  add: ["#/definition/release?node=plan", ".node.selected", async (page) => {
    await page.locator("[data-graph]").focus();
    await page.keyboard.press("a");
    await page.waitForSelector("dialog[open]");
  }],
  save: ["#/definition/release?node=plan", ".node.selected", async (page) => {
    await page.getByLabel("Agent").fill("ada");
    await page.keyboard.press("Control+s");
    await page.waitForSelector("dialog .diff-lines");
  }],
  broken: ["#/definition/release?node=plan", ".node.selected", async (page) => {
    await page.locator(".code-host").getByText('"agent"').first().click();
    await page.keyboard.press("End");
    await page.keyboard.type(" !");
    await page.waitForSelector(".stale .over-graph");
  }],
  conflict: ["#/definition/release?node=plan", ".node.selected", async (page, scheme) => {
    await page.getByLabel("Agent").fill("ada");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".work-actions .primary:enabled");
    const headers = { Authorization: "Bearer mock", "Content-Type": "application/json" };
    await fetch(`http://127.0.0.1:${port}/api/v1/definitions/release/disk`, { method: "POST", headers, body: JSON.stringify({ from: '"agent": "developer"', to: `"agent": "of ${scheme}"` }) });
    await page.click("text=Compare and choose");
    await page.waitForSelector("dialog .merge-changed");
  }],
  try: ["#/try/inventory?node=list", ".node", async (page) => {
    await page.getByText("Answers that are written here").click();
    await page.locator("[data-graph]").focus();
    await page.keyboard.press("b");
    await page.getByText("Run it").click();
    await page.waitForSelector("[aria-invalid=true]");
  }],
  refused: ["#/try/inventory", ".node", async (page) => {
    await page.getByLabel("depth").fill("2");
    await page.getByText("Run it").click();
    await page.waitForSelector(".try-foot [role=alert]");
  }],
  driven: ["#/try/inventory?node=any", ".node.selected", async (page) => {
    await page.getByLabel("depth").fill("2");
    await page.getByText("Answers that are written here").click();
    await page.getByLabel("list", { exact: true }).fill('{ "content": "[FILE] a.txt" }');
    await page.locator("[data-graph]").focus();
    await page.keyboard.press("b");
    await page.getByLabel("Only when").fill("? wrong");
    await page.keyboard.press("Enter");
    await page.getByText("Run it").click();
    await page.waitForSelector(".drive-bar :text('paused before')");
  }],
  missing: ["#/definition/nothing", ".notice"],
};

const mock = spawn(process.execPath, [join(here, "mock.mjs"), String(port)], { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, MOCK_LIVE: "800" } });
await new Promise((resolve) => mock.stdout.once("data", resolve));
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
let bad = 0;

async function open(page, address) {
  const began = Date.now();
  const [host, route] = address.split("#");
  await page.goto(`http://${host || "127.0.0.1"}:${port}/#${route}&token=mock`.replace(/\/#\/&/, "/#/&"));
  return began;
}

try {
  for (const scheme of ["light", "dark"]) {
    const context = await browser.newContext({ colorScheme: scheme, viewport: { width: 1440, height: 900 }, reducedMotion: "reduce", bypassCSP: false });
    for (const [name, [address, ready, act]] of Object.entries(SCREENS)) {
      if (only.length && !only.includes(name)) continue;
      const page = await context.newPage();
      const said = [];
      page.on("console", (message) => (message.type() === "error" || message.type() === "warning") && said.push(message.text()));
      page.on("pageerror", (error) => said.push(String(error)));
      const began = await open(page, address);
      try {
        await page.waitForSelector(ready, { timeout: 8000 });
        await act?.(page, scheme);
      } catch (error) {
        said.push(`nothing matches ${ready}: ${error.message.split("\n")[0]}`);
      }
      const took = Date.now() - began;
      await page.waitForTimeout(500);
      await page.screenshot({ path: join(out, `${name}-${scheme}.png`) });
      await page.evaluate(`(() => { const module = undefined; const exports = undefined; ${axe}\n; })()`).catch((error) => said.push(`axe: ${error.message}`));
      const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations.map((v) => ({ id: v.id, impact: v.impact, nodes: v.nodes.slice(0, 4).map((n) => `${n.html.slice(0, 160)} :: ${n.any[0]?.message ?? n.all[0]?.message ?? ""}`) }))));
      const grave = found.filter((v) => v.impact === "serious" || v.impact === "critical");
      const violations = said.filter((text) => !/status of 4(04|22)/.test(text));
      bad += grave.length + violations.length;
      console.log(`${name} ${scheme}: ${took} ms, axe ${found.length} (${grave.length} grave)`);
      for (const v of found) console.log(`   ${v.impact} ${v.id}\n      ${v.nodes.join("\n      ")}`);
      for (const text of violations) console.log(`   console: ${text}`);
      await page.close();
    }
    await context.close();
  }
} finally {
  await browser.close();
  mock.kill();
}
process.exitCode = bad > 0 ? 1 : 0;

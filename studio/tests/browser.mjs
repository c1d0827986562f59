// A browser, and what every screen is held to: no error, nothing that the policy refuses, nothing that axe calls serious.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const launch = (...more) =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--process-per-site", ...more],
  });

/** A page in a context of its own or, without `options`, in a given one; whatever it complains of is in `said`. */
export async function open(browser, options, given) {
  const context = (!options && given) || (await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options }));
  // Beside a compiler a page may take long; what never comes is told all the same.
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  const said = [];
  page.on("console", (message) => message.type() === "error" && !/Failed to load resource|ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY/.test(message.text()) && said.push(message.text()));
  page.on("pageerror", (error) => said.push(String(error)));
  page.on("dialog", (dialog) => (said.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
  return { context, page, said };
}

/** What depends on colours, and so on the scheme. */
const COLOURS = ["color-contrast", "link-in-text-block"];

/** What axe finds that is serious or critical, in short: by all of its rules, or by some. */
export async function barriers(page, rules = null) {
  // What the policy forbids to pages is done from outside of it.
  const session = await page.context().newCDPSession(page);
  await session.send("Page.setBypassCSP", { enabled: true });
  const { result: there } = await session.send("Runtime.evaluate", { expression: "typeof axe", returnByValue: true });
  const { result } = await session.send("Runtime.evaluate", {
    expression: `${there.value === "undefined" ? axe : ""}; axe.run(document, ${JSON.stringify({ resultTypes: ["violations"], ...(rules ? { runOnly: rules } : {}) })}).then((found) => JSON.stringify(found.violations.filter((v) => ["serious", "critical"].includes(v.impact)).map((v) => v.id + ": " + v.nodes.map((n) => n.target.join(" ")).join(", "))))`,
    awaitPromise: true,
    returnByValue: true,
  });
  await session.send("Page.setBypassCSP", { enabled: false });
  return JSON.parse(result.value);
}

/** The same of a frame inside of a page. */
export async function barriersIn(frame) {
  await frame.evaluate(axe);
  return frame.evaluate(async () => {
    const { violations } = await axe.run(document, { resultTypes: ["violations"] });
    return violations.filter((found) => ["serious", "critical"].includes(found.impact)).map((found) => `${found.id}: ${found.nodes.map((node) => node.target.join(" ")).join(", ")}`);
  });
}

export async function soundIn(page, said, what, rules) {
  assert.deepEqual(await barriers(page, rules), [], what);
  assert.deepEqual(said, [], what);
}

/** In both schemes, without a screen being opened twice: in the dark only the colours are others. */
export async function soundInBoth(page, said, what) {
  for (const [colorScheme, rules] of [["dark", COLOURS], ["light", null]]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await soundIn(page, said, `${what}, ${colorScheme}`, rules);
  }
}

// `portolan studio --open`: the browser is given a file that leads to the page, and no program is given the token.
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, watch, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { open, soundIn } from "./browser.mjs";
import { atOwnAddress } from "./front.mjs";
import { browser, prepare, project } from "./suite.mjs";

const SMALL = { name: "Small", nodes: { start: { type: "start" }, work: { type: "task" }, done: { type: "end", result: "success" } }, edges: [{ from: "start", to: "work" }, { from: "work", to: "done" }] };

prepare((project) => project.write(".flow/workflows/small.json", JSON.stringify(SMALL)));

/** A studio that opens the browser; first on its path is a program that only notes what it is given. */
async function opened(run) {
  const folder = join(project.folder, "programs");
  const noted = join(folder, "noted");
  mkdirSync(folder, { recursive: true });
  // The note is complete when it is there: it is moved into its place.
  writeFileSync(join(folder, "xdg-open"), `#!/bin/sh\nprintf '%s\\n' "$#" "$@" > '${noted}.part'\nmv '${noted}.part' '${noted}'\n`);
  chmodSync(join(folder, "xdg-open"), 0o755);
  const plain = project.env;
  project.env = { ...plain, PATH: [folder, plain.PATH].join(delimiter) };
  const there = new Promise((there) => {
    const watcher = watch(folder, () => existsSync(noted) && (watcher.close(), there()));
  });
  const studio = await project.studio("--open").finally(() => (project.env = plain));
  try {
    await there;
    const [count, ...given] = readFileSync(noted, "utf8").trimEnd().split("\n");
    assert.equal(count, "1");
    await run(studio, given[0]);
  } finally {
    await studio.kill("SIGTERM");
  }
  return studio;
}

test("the browser is given a file that only its user can read, which leads to the page with its token", { skip: process.platform !== "linux" && "the program is called otherwise" }, async () => {
  let file;
  const { context, page, said } = await open(browser);
  try {
    await atOwnAddress(context);
    const studio = await opened(async (studio, given) => {
      file = given.startsWith("file:") ? fileURLToPath(given) : given;
      // Other users of the machine see the arguments of a program.
      assert.ok(!given.includes(studio.token));
      assert.equal(statSync(file).mode & 0o077, 0);
      assert.ok(readFileSync(file, "utf8").includes(studio.address));
      await page.goto(`file://${file}`);
      await page.waitForURL(`${studio.base}**`);
      await page.getByRole("region", { name: "Definitions" }).locator("a.entry", { hasText: "Small" }).waitFor();
      assert.equal(new URL(page.url()).hash, "#/");
      await soundIn(page, said, "opened");
      // The token is good for what changes something, too.
      await page.goto(`${studio.base}#/try/small`);
      await page.getByLabel(/^What is wanted/).fill("make it so");
      await page.keyboard.press("Control+Enter");
      await page.waitForSelector(".badge");
    });
    assert.ok(studio.child.exitCode === 0 || studio.child.signalCode === "SIGTERM");
    // With the studio the file is gone.
    assert.ok(!existsSync(file));
  } finally {
    await context.close();
  }
});

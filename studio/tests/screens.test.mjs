// Every screen and every state of it is sound, in light and in dark, and nothing is cut off in a narrow window or at 200 % zoom.
import assert from "node:assert/strict";
import { soundInBoth } from "./browser.mjs";
import { Hands } from "./hands.mjs";
import { inPage, prepare, project, studio } from "./suite.mjs";

const FILE = ".flow/workflows/release.json";

prepare((project) => {
  project.example("examples/navigator/release/release.json", "release.json");
  project.example("examples/activities/work-package", "work-package");
});

/** A run of an agent, and how many records it has. */
async function ran() {
  const agent = await project.agent().begin();
  const run = await agent.open("release", "version 2");
  for (const outcome of ["passed", "failed", "passed"]) await agent.next(outcome);
  agent.end();
  return run;
}

inPage("a definition, while it is edited", async (page, said) => {
  const hands = new Hands(page);
  const escape = async () => {
    await page.keyboard.press("Escape");
    await hands.closed();
  };
  await hands.at("release", "test");
  await hands.key("e");
  await page.locator("aside[aria-label=Details]").getByRole("heading", { name: "Edge" }).waitFor();
  await page.locator(".palette summary").click();
  await soundInBoth(page, said, "an edge, and the palette");
  for (const [key, what] of [["a", "adding"], ["c", "leading elsewhere"]]) {
    await hands.key(key);
    await page.waitForSelector("dialog[open]");
    await soundInBoth(page, said, what);
    await escape();
  }
  await hands.click("write_notes");
  for (const [key, what] of [["F2", "renaming"], ["Delete", "deleting"]]) {
    await hands.key(key);
    await page.waitForSelector("dialog[open]");
    await soundInBoth(page, said, what);
    await escape();
  }
  await hands.fill("Agent", "ada");
  await page.keyboard.press("Control+s");
  await page.waitForSelector("dialog[open] .diff-lines");
  await soundInBoth(page, said, "saving");
  await escape();
  await page.getByRole("link", { name: "Home" }).click();
  await page.waitForSelector("dialog[open]");
  await soundInBoth(page, said, "leaving");
  await escape();
  project.write(FILE, project.read(FILE).replace('"agent": "developer"', '"agent": "bob"'));
  await page.getByRole("button", { name: "Compare and choose" }).click();
  await page.waitForSelector("dialog .merge-changed");
  await soundInBoth(page, said, "a conflict");
  await escape();
  await page.locator(".code-host").getByText('"stage"').first().click();
  await page.keyboard.press("End");
  await page.keyboard.type(" !");
  await page.locator(".stale .over-graph").waitFor();
  await soundInBoth(page, said, "a text that cannot be read");
});

inPage("a definition of activities, a run with its dialogs, and addresses that lead nowhere", async (page, said) => {
  const run = await ran();
  await page.goto(studio.at("/definition/work-package?node=design"));
  await page.waitForSelector(".node.selected");
  await soundInBoth(page, said, "activities");
  await page.goto(studio.at(`/run/${run}@3`));
  await page.getByRole("button", { name: "Branch from this record…" }).click();
  await page.waitForSelector("dialog[open]");
  await soundInBoth(page, said, "a branch");
  for (const [route, title] of [["/definition/nothing", "Nothing is kept under this name"], ["/run/nothing", null], ["/nowhere", "No screen has this address"]]) {
    await page.goto(studio.at(route));
    if (title) await page.getByRole("heading", { name: title }).waitFor();
    else await page.locator(".notice").waitFor();
    await soundInBoth(page, said, route);
  }
});

for (const [name, width, height] of [["in a window of 1024 pixels", 1024, 700], ["at 200 % zoom", 640, 450]]) {
  inPage(
    `nothing is cut off ${name}`,
    async (page) => {
      const run = await ran();
      const screens = { "/": ".entry", "/definition/release?node=tag": ".node.selected", [`/run/${run}@3`]: ".badge", "/inbox": "main h1", "/project": ".project-facts", [`/compare/${run}@2/${run}@4`]: ".diff-words" };
      for (const [route, ready] of Object.entries(screens)) {
        await page.goto(studio.at(route));
        await page.locator(ready).first().waitFor({ state: "attached" });
      const over = await page.evaluate(() => {
          const main = document.querySelector("main");
          return [document.documentElement.scrollWidth - innerWidth, main.scrollWidth - main.clientWidth];
        });
        assert.ok(Math.max(...over) <= 0, `${route} is ${over} px too wide`);
      }
    },
    { viewport: { width, height } },
  );
}

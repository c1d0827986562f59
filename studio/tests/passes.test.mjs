// The passes of a loop and the items of a list on a drawn run, with the real server.
import assert from "node:assert/strict";
import { soundIn } from "./browser.mjs";
import { inPage, picture, prepare, project, studio } from "./suite.mjs";

const ROUNDS = {
  id: "rounds",
  version: "1.0.0",
  title: "Rounds",
  variables: [{ name: "names", type: "array", default: ["ada", "grace", "edith"] }],
  activities: [
    {
      id: "rounds",
      name: "Rounds",
      steps: [{ id: "round", kind: "loop", name: "Round", loopType: "forEach", over: "names", variable: "name", steps: [{ id: "greet", kind: "step", name: "Greet {name}", accept: [{ id: "there", file: "ready.txt" }] }] }],
    },
  ],
};
const DIVIDED = `version: "1.0"
server: { name: divided, version: "1" }
tools:
  - name: twelfth
    description: Divides 12 by a number
    inputSchema: { type: object, properties: { by: { type: number } } }
    nodes:
      - { id: entry, type: entry, next: divide }
      - { id: divide, type: transform, transform: { expr: '$.entry.by = 0 ? $error("nothing divides by 0") : 12 / $.entry.by' }, next: exit }
      - { id: exit, type: exit }
  - name: divided
    description: Divides 12 by each of some numbers
    inputSchema: { type: object, properties: { by: { type: array } } }
    nodes:
      - { id: entry, type: entry, next: each }
      - { id: each, type: forEach, items: { expr: $.entry.by }, tool: twelfth, args: { by: { expr: $item } }, concurrency: 1, next: exit }
      - { id: exit, type: exit }
`;

prepare((project) => {
  project.write(".flow/workflows/rounds.json", JSON.stringify(ROUNDS, null, 2));
  project.write(".flow/workflows/divided.yaml", DIVIDED);
});

/** Waits until a drawn node shows these passes. */
const shows = (page, node, words) => page.waitForFunction(([node, words]) => document.querySelector(`.react-flow__node[data-id="${node}"] .strip`)?.title === words.join("\n"), [node, words]);

inPage("each pass of a loop is seen, and those in which something failed", async (page, said) => {
  const agent = await project.agent().begin();
  const run = await agent.open("rounds", "greet them all");
  await agent.next("passed");
  await page.goto(studio.at(`/run/${run}`));
  await shows(page, "rounds.round", ["1: under way, after a failure"]);
  project.write("ready.txt", "yes");
  await agent.next("passed");
  await agent.next("passed");
  await shows(page, "rounds.round", ["1: done, after a failure", "2: done", "3: under way"]);
  await soundIn(page, said, "passes");
  await picture(page, "passes");
  agent.end();
});

inPage("the item of a list that failed is seen", async (page, said) => {
  const { run } = await studio.post("/definitions/divided/try", { root: "divided", input: { by: [3, 4, 0, 6] } });
  await page.goto(studio.at(`/run/${run}`));
  await shows(page, "each", ["1: done", "2: done", "3: failed"]);
  // What failed is within the node, which is folded.
  await page.getByRole("button", { name: "Show each", exact: true }).click();
  const details = page.locator("aside[aria-label=Details]");
  await details.getByText("passes 1: done; 2: done; 3: failed").waitFor();
  assert.equal(await details.getByRole("heading", { level: 2 }).first().textContent(), "each");
  await soundIn(page, said, "items");
  await picture(page, "items");
});

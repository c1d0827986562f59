// Two moments beside each other, of one run and of two: the steps and the values that differ, each as it is on either side.
import assert from "node:assert/strict";
import { soundInBoth } from "./browser.mjs";
import { inPage, prepare, project, studio } from "./suite.mjs";

const SUMS = `version: "1.0"
server: {name: sums, version: "1"}
tools:
  - name: sum
    description: Adds one, and says how large the sum is
    inputSchema: {type: object, properties: {a: {type: integer}}, required: [a]}
    nodes:
      - {id: entry, type: entry, next: add}
      - {id: add, name: Add one, type: transform, transform: {expr: '{"sum": $.entry.a + 1, "of": "numbers"}'}, next: large}
      - id: large
        type: switch
        conditions:
          - {rule: {">": [{var: add.sum}, 10]}, next: big}
        next: small
      - {id: big, type: transform, transform: {expr: '"big"'}, next: exit}
      - {id: small, type: transform, transform: {expr: '"small"'}, next: exit}
      - {id: exit, type: exit}
`;
const SMALL = { name: "Small", nodes: { start: { type: "start" }, work: { type: "task", name: "Do it" }, check: { type: "task", name: "Look at it" }, done: { type: "end", result: "success" } }, edges: [{ from: "start", to: "work" }, { from: "work", to: "check" }, { from: "check", to: "done" }] };

prepare((project) => {
  project.write(".flow/workflows/sums.yaml", SUMS);
  project.write(".flow/workflows/small.json", JSON.stringify(SMALL));
});

/** A run of the function that is over, and its last record. */
async function summed(a) {
  const { run } = await studio.post("/definitions/sums/try", { input: { a } });
  for (;;) {
    const { head, over } = await studio.ask(`/runs/${run}`);
    if (over) return { run, head };
  }
}

/** The rows of a table, cell by cell. */
const table = async (page, part) => {
  const rows = await page.getByRole("region", { name: part, exact: true }).locator("tbody tr").all();
  return Promise.all(rows.map(async (row) => (await row.locator("th, td").allInnerTexts()).map((text) => text.trim())));
};
/** Waits until a table has a row of these cells. */
const has = (page, part, ...cells) => {
  const row = page.getByRole("region", { name: part, exact: true }).locator("tbody tr", { has: page.getByRole("rowheader", { name: cells[0], exact: true }) });
  return row.filter({ hasText: new RegExp(`^\\s*${cells.join("\\s*")}\\s*$`) }).waitFor();
};

inPage("two moments of one run: the step where it was, and the value that came between them", async (page) => {
  const { run, head } = await summed(2);
  await page.goto(studio.at(`/compare/${run}@2/${run}@3`));
  await has(page, "Steps", "Add one", "here", "done");
  assert.deepEqual(await table(page, "Steps"), [["Add one", "here", "done"], ["large", "not reached", "here"]]);
  const [[path, left, right], ...more] = await table(page, "Values");
  assert.deepEqual([path, left, JSON.parse(right), more], ["add", "none", { sum: 3, of: "numbers" }, []]);
  // Another record is chosen by its number; at the last one the small way was taken.
  await page.getByLabel("Record").nth(1).fill(String(head));
  await has(page, "Values", "small", "none", "small");
  await page.waitForFunction(([run, head]) => location.hash === `#/compare/${run}@2/${run}@${head}`, [run, head]);
  // A moment beside itself differs in nothing.
  await page.goto(studio.at(`/compare/${run}@3/${run}@3`));
  for (const words of ["All steps stand the same.", "All values are the same.", "Word for word the same."]) await page.getByText(words).waitFor();
  assert.equal(await page.locator(".diff table").count(), 0);
});

inPage("the last moments of two runs: each value that differs stands there with both, and no other", async (page, said) => {
  const [small, big] = [await summed(2), await summed(20)];
  await page.goto(studio.at(`/compare/${small.run}/${small.run}`));
  await page.getByText("All values are the same.").waitFor();
  // The other run is asked for by its name, as a person does.
  const right = page.locator("form.side").nth(1);
  await right.getByLabel("Right: run").fill(big.run);
  await right.getByRole("button", { name: "Show" }).click();
  await has(page, "Values", "add.sum", "3", "21");
  assert.deepEqual(await table(page, "Values"), [
    ["entry.a", "2", "20"],
    ["add.sum", "3", "21"],
    ["large", "small", "big"],
    ["small", "small", "none"],
    ["exit", "small", "big"],
    ["big", "none", "big"],
  ]);
  assert.deepEqual(await table(page, "Steps"), [["small", "done", "not reached"], ["big", "not reached", "done"]]);
  await soundInBoth(page, said, "two runs");
  // Each side leads to its moment.
  await right.getByRole("link", { name: "open this moment" }).click();
  await page.waitForFunction(({ run, head }) => location.hash === `#/run/${run}@${head}`, big);
});

inPage("of two runs of an agent the positions differ, and the words that it was given", async (page) => {
  const agent = await project.agent().begin();
  const ahead = await agent.open("small", "make it so");
  await agent.next("passed");
  const behind = await agent.open("small", "make it so");
  agent.end();
  await page.goto(studio.at(`/compare/${behind}/${ahead}`));
  await has(page, "Steps", "Look at it", "not reached", "here");
  assert.deepEqual(await table(page, "Steps"), [["Do it", "here", "done"], ["Look at it", "not reached", "here"]]);
  const words = page.getByRole("group", { name: "Difference of the situations" });
  await words.locator(".left", { hasText: "Do it" }).first().waitFor();
  await words.locator(".right", { hasText: "Look at it" }).first().waitFor();
});

// What is checked and what is believed, in the graph, in the outline and beside a step, with the real server.
import assert from "node:assert/strict";
import { soundIn } from "./browser.mjs";
import { inPage, prepare, project, studio } from "./suite.mjs";

const ship = {
  name: "Ship",
  nodes: {
    start: { type: "start" },
    plan: { type: "task", name: "Plan" },
    build: { type: "task", name: "Build", accept: [{ check: "tests" }] },
    ask: { type: "end", result: "blocked", escalation: "hitl", name: "Ask" },
    done: { type: "end", result: "success" },
  },
  edges: [{ from: "start", to: "plan" }, { from: "plan", to: "build" }, { from: "build", to: "done", on: "passed" }, { from: "build", to: "ask", on: "failed" }, { from: "ask", to: "build", on: "passed" }],
};

prepare((project) => {
  project.write(".flow/workflows/ship.json", JSON.stringify(ship, null, 2));
  project.write(".portolan/verify.yaml", "verify:\n  - { workflow: ship, node: build, accept: [treeIsSettled] }\n");
});

const panel = (page) => page.locator(".facts", { has: page.locator(".facts-head") }).first();

for (const colorScheme of ["light", "dark"]) {
  inPage(
    `a definition says what is checked and what is believed: ${colorScheme}`,
    async (page, complaints) => {
      await page.goto(studio.at("/definition/ship?node=build"));
      const legend = page.locator(".marks-legend");
      await legend.locator("summary", { hasText: "checked not checked" }).click();
      await legend.getByText("Portolan runs checks before the run leaves the step").waitFor();
      await legend.getByText("no check runs").waitFor();
      const marks = await page.locator(".node .verified").evaluateAll((marks) => marks.map((mark) => [mark.closest(".node").title, mark.textContent, mark.title]));
      assert.deepEqual(marks, [["Plan", "", "not checked: what is reported counts"], ["Build", "2", "checked by tests, treeIsSettled"]], "questions, starts and ends claim nothing");
      await page.getByRole("treeitem", { name: /^Plan ?, task, not checked: what is reported counts/ }).waitFor();
      await page.getByRole("treeitem", { name: /^Build ?, task, checked by tests, treeIsSettled/ }).waitFor();
      const checks = await panel(page).locator(".check-list li").allTextContents();
      assert.deepEqual(checks, ["tests the project's testsfrom the definition", "treeIsSettled gate treeIsSettledattached by .portolan/verify.yaml, line 2"]);
      await soundIn(page, complaints, `checked ${colorScheme}`);
      await page.goto(studio.at("/definition/ship?node=plan"));
      await panel(page).getByText("nothing is checked before this step is left").waitFor();
      await soundIn(page, complaints, `believed ${colorScheme}`);
    },
    { colorScheme },
  );
}

inPage("a run says the same of the steps that it began with", async (page, complaints) => {
  const agent = await project.agent().begin();
  const run = await agent.open("ship", "ship it");
  agent.end();
  await page.goto(studio.at(`/run/${run}`));
  await page.locator(".node", { hasText: "Build" }).click();
  await panel(page).getByText("attached by .portolan/verify.yaml", { exact: true }).waitFor();
  await soundIn(page, complaints, "run");
});

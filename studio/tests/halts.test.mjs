// Why a run does not go on, at first sight: at home and on its page, with the real server.
import assert from "node:assert/strict";
import { soundIn } from "./browser.mjs";
import { NIGHTLY } from "./nightly.mjs";
import { inPage, picture, prepare, project, studio } from "./suite.mjs";

const MAIL = `version: "1.0"
server: {name: mail, version: "1"}
tools:
  - name: mail
    description: Tells a customer
    inputSchema: {type: object, properties: {who: {type: string}}}
    nodes:
      - {id: entry, type: entry, next: text}
      - {id: text, type: transform, transform: {expr: '{"message": "no route to " & $.entry.who}'}, next: send}
      - {id: send, type: mcp, server: echo, tool: fail, args: {message: {expr: $.text.message}}, next: exit}
      - {id: exit, type: exit}
`;

prepare((project) => {
  project.write(".flow/workflows/nightly.json", JSON.stringify(NIGHTLY, null, 2));
  project.write(".flow/workflows/unread.json", JSON.stringify({ ...NIGHTLY, name: "Unread" }, null, 2).replace("got 500", "got 501"));
  project.write(".flow/workflows/mail.yaml", MAIL);
});

/** A run of an agent that has reported so often that its work has passed. */
async function reported(workflow, times) {
  if (workflow === "nightly") project.says("trust", ".flow/workflows/nightly.json");
  const agent = await project.agent().begin();
  const run = await agent.open(workflow, "Monday");
  for (let nth = 0; nth < times; nth += 1) await agent.next("passed");
  return { run, agent };
}

const at = async (page, run) => {
  await page.goto(studio.at(`/run/${run}`));
  const why = page.getByRole("region", { name: /^Why it/ });
  await why.waitFor();
  return why;
};

inPage("a run that waits for a person says so at home and on its page, and leads to its question", async (page, complaints) => {
  await studio.post("/definitions/mail/try", { input: { who: "Ada" } });
  const other = await reported("nightly", 1);
  other.agent.end();
  const { run, agent } = await reported("nightly", 3);
  agent.end();
  await page.goto(studio.at("/"));
  const row = page.locator("a.entry.run", { hasText: run });
  await row.getByText("Waits for a person's answer").waitFor();
  // A run is called as its definition is, once that is known.
  await page.waitForSelector(".entry.definition");
  assert.match(await row.textContent(), /Nightly.*Tests keep failing.*The tests failed twice. What now\? · tests did not hold: login: expected 200, got 500/);
  await soundIn(page, complaints, "home");
  await page.getByText("send failed: no route to Ada").waitFor();
  await picture(page, "home");
  await row.click();
  const why = page.getByRole("region", { name: "Why it stands" });
  await why.getByText("Waits for a person's answer").waitFor();
  // Steps are called by their names once the definition is drawn.
  await why.getByRole("button", { name: "Show Test", exact: true }).waitFor();
  const told = await why.textContent();
  assert.match(told, /Tests keep failing.*The tests failed twice. What now\?.*Check tests of Test did not hold/s);
  assert.match(told, /login: expected 200, got 500/);
  assert.ok(await why.locator("time").count(), "since when");
  await soundIn(page, complaints, "why it stands");
  for (const [width, height] of [[1280, 800], [1024, 768], [1440, 900]]) {
    await page.setViewportSize({ width, height });
    // The last line is whole.
    const [box, last] = await why.evaluate((why) => [why, why.querySelector(".why-last")].map((element) => element.getBoundingClientRect().toJSON()));
    assert.ok(last.bottom <= box.bottom && last.top >= box.top, `${width} × ${height}: ${JSON.stringify([box, last])}`);
  }
  await picture(page, "why");
  await why.getByRole("button", { name: "Show Test", exact: true }).click();
  await page.locator("aside[aria-label=Details] h2", { hasText: "Test" }).waitFor();
  await why.getByRole("link", { name: "Answer…" }).focus();
  await page.keyboard.press("Enter");
  const question = page.locator(".question.wanted", { hasText: run });
  await question.waitFor();
  await page.waitForFunction((run) => document.activeElement?.closest(".question")?.textContent.includes(run), run);
});

inPage("a run that is at its agent says whose turn it is, and what did not hold last", async (page) => {
  const { run, agent } = await reported("nightly", 1);
  const why = await at(page, run);
  await why.getByText("An agent's turn").waitFor();
  await why.getByRole("button", { name: "Show Test", exact: true }).waitFor();
  assert.match(await why.textContent(), /Repair.*Check tests of Test did not hold.*login: expected 200, got 500/s);
  await page.goto(studio.at("/"));
  await page.locator("a.entry.run", { hasText: run }).getByText("1 of 1 retry used").waitFor();
  const last = page.locator("a.entry.definition", { hasText: "Nightly" }).locator(".last-runs");
  assert.match(await last.textContent(), /^last runs(working|waiting|checking)/);
  await at(page, run);
  // It is told anew when the run moves.
  await agent.next("passed");
  await agent.next("passed");
  agent.end();
  await why.getByText("Waits for a person's answer").waitFor();
});

inPage("a run that failed says where and why, and the step is shown", async (page, complaints) => {
  const { run } = await studio.post("/definitions/mail/try", { input: { who: "Ada" } });
  await page.goto(studio.at("/"));
  const row = page.getByRole("region", { name: "Ended without success" }).locator("a.entry.run", { hasText: run });
  await row.getByText("send failed: no route to Ada").waitFor();
  const why = await at(page, run);
  assert.match(await why.textContent(), /It failed.*send failed: no route to Ada/s);
  await page.locator("aside[aria-label=Details] h2", { hasText: "send" }).waitFor();
  await soundIn(page, complaints, "a failed run");
  // One press leads to the data that it failed with.
  await why.getByRole("button", { name: "Run again from send…" }).click();
  const field = page.getByLabel("Value of text, as JSON");
  assert.deepEqual(JSON.parse(await field.inputValue()), { message: "no route to Ada" });
  await field.fill('{"message": "nobody there"}');
  await page.getByRole("button", { name: "Run it" }).click();
  await page.waitForFunction((run) => !location.hash.includes(run), run);
  await page.getByRole("region", { name: "Why it ended" }).getByText("nobody there").waitFor();
});

inPage("a run whose commands nobody has trusted waits for that, and the command stands there", async (page) => {
  const { run, agent } = await reported("unread", 0);
  agent.end();
  const why = await at(page, run);
  assert.match(await why.textContent(), /Waits for a person to trust its commands.*portolan trust \S*unread\.json/s);
  await page.goto(studio.at("/"));
  await page.locator("a.entry.run", { hasText: run }).getByText("Waits for a person to trust its commands").waitFor();
});

inPage("Enter opens the first thing that is found", async (page) => {
  await page.goto(studio.at("/"));
  await page.getByRole("region", { name: "Definitions" }).locator("a.entry").first().waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("mail");
  await page.locator("a.entry", { hasText: "mail" }).first().waitFor();
  const first = await page.locator("a.entry").first().getAttribute("href");
  await page.keyboard.press("Enter");
  await page.waitForFunction((first) => location.hash === first, first);
});

inPage("a run is found by the reason that its row shows", async (page) => {
  const { run } = await studio.post("/definitions/mail/try", { input: { who: "Atlantis" } });
  await page.goto(studio.at("/"));
  await page.locator("a.entry.run", { hasText: run }).getByText("no route to Atlantis").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("atlantis");
  await page.waitForFunction(() => document.querySelectorAll("a.entry").length === 1);
  assert.match(await page.locator("a.entry").textContent(), new RegExp(run));
});

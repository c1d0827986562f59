// The server goes and comes back while somebody edits: nothing that was not saved is lost.
import assert from "node:assert/strict";
import { test } from "node:test";
import { open, soundIn } from "./browser.mjs";
import { browser, inPage, prepare, project, studio } from "./suite.mjs";

const SMALL = { name: "Small", nodes: { start: { type: "start" }, work: { type: "task", name: "Work" }, done: { type: "end", result: "success" } }, edges: [{ from: "start", to: "work" }, { from: "work", to: "done" }] };

prepare((project) => project.write(".flow/workflows/small.json", JSON.stringify(SMALL, null, 2)));

inPage("an address of the same start that is opened in place leaves the page connected", async (page) => {
  await page.goto(studio.at("/definition/small"));
  await page.locator(".link-state.live").waitFor();
  await page.goto(studio.at("/definition/small?node=work"));
  await page.waitForSelector(".node.selected");
  assert.equal(await page.locator(".banner.bad").count(), 0);
  await page.locator(".link-state.live").waitFor();
});

test("the server ends while somebody edits, and starts anew: the page says so, goes on in place, and saves", async () => {
  let own = await project.studio();
  const { context, page, said } = await open(browser);
  try {
    await page.goto(own.at("/definition/small?node=work"));
    await page.waitForSelector(".node.selected");
    const name = page.locator("[data-form]").getByLabel("Name");
    await name.fill("Work well");
    await page.keyboard.press("Enter");
    await page.locator(".node", { hasText: "Work well" }).waitFor();
    await own.kill();
    const banner = page.locator(".banner.bad");
    await banner.getByText("The server does not answer.").waitFor();
    assert.match(await banner.textContent(), /what you have not saved is kept.*portolan studio --port \d+/s);
    await soundIn(page, said, "offline");
    // Saving is refused while it is gone, and loses nothing.
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+s");
    await page.locator("dialog .actions .primary").click();
    await page.locator("dialog [role=alert]").waitFor();
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "detached" });
    // What is written meanwhile is checked when the server is there again.
    const source = page.locator(".code-host");
    await source.getByText("Work well").first().click();
    await page.keyboard.press("Home");
    await page.keyboard.press("End");
    await page.keyboard.type(" ");
    own = await project.studio("--port", own.port);
    await banner.getByText("does not know this page").waitFor();
    await soundIn(page, said, "another start");
    const address = page.getByLabel("The address that was printed last");
    await address.fill("nonsense");
    await page.keyboard.press("Enter");
    await banner.getByRole("alert").waitFor();
    await address.fill(`${own.page}#token=${own.token}`);
    await page.keyboard.press("Enter");
    await page.locator(".banner.good").waitFor();
    assert.match(page.url(), /#\/definition\/small\?node=work$/);
    await page.locator(".node", { hasText: "Work well" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+s");
    await page.waitForSelector("dialog[open] .diff-lines");
    await page.locator("dialog .actions .primary").click();
    await page.waitForSelector("dialog", { state: "detached" });
    assert.match(project.read(".flow/workflows/small.json"), /"Work well"/);
    assert.deepEqual(project.git("status", "--short").split("\n").filter(Boolean), [" M .flow/workflows/small.json"]);
  } finally {
    await context.close();
    await own.kill();
  }
});

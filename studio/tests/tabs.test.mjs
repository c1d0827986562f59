// Many tabs of one studio, and the secret in its address: one stream for all of them, and what each says of a token.
import assert from "node:assert/strict";
import { test } from "node:test";
import { open, soundIn } from "./browser.mjs";
import { front } from "./front.mjs";
import { APART, browser, inPage, prepare, project, studio } from "./suite.mjs";

const small = { name: "Small", nodes: { start: { type: "start" }, one: { type: "task" }, two: { type: "task" }, three: { type: "task" }, done: { type: "end", result: "success" } }, edges: [{ from: "start", to: "one" }, { from: "one", to: "two" }, { from: "two", to: "three" }, { from: "three", to: "done" }] };

prepare((project) => project.write(".flow/workflows/small.json", JSON.stringify(small, null, 2)));

/** The tabs that read the stream; of a tab that was closed nothing is heard any more. */
function streams(context) {
  const read = new Set();
  const of = (request) => request.url().endsWith("/api/v1/events");
  context.on("request", (request) => of(request) && read.add(request));
  for (const over of ["requestfailed", "requestfinished"]) context.on(over, (request) => read.delete(request));
  return () => [...read].map((request) => request.frame().page()).filter((page) => !page.isClosed());
}

const live = (page) => page.locator(".link-state.live").waitFor();
const at = (page, head) => page.waitForFunction((head) => document.querySelector(".slider-place b")?.textContent === String(head), head);

inPage("seven tabs share one stream, each shows what an agent does, and another tab reads on when that of the stream closes", async (page, said) => {
  const agent = await project.agent().begin();
  try {
    const run = await agent.open("small", "be small");
    const context = page.context();
    const reading = streams(context);
    const tabs = [page];
    // Six connections to a server are all that a browser has: with a stream each, the seventh would never load.
    while (tabs.length < 7) tabs.push(await context.newPage());
    const show = async (tab) => {
      await tab.goto(studio.at(`/run/${run}`));
      await live(tab);
    };
    await show(page);
    await Promise.all(tabs.slice(1).map(show));
    assert.deepEqual(reading(), [page]);
    const moved = async (result, tabs) => {
      await agent.next(result);
      const { head } = await studio.ask(`/runs/${run}`);
      await Promise.all(tabs.map((tab) => at(tab, head)));
    };
    await moved("passed", tabs);
    await soundIn(page, said, "one of many tabs");
    await page.close();
    const left = tabs.slice(1);
    // While nobody reads the stream, the run goes on.
    await moved("passed", left);
    await moved("passed", left);
    assert.equal(reading().length, 1);
    assert.ok(left.includes(reading()[0]));
    for (const tab of left) await tab.locator(".work-head :text('success')").waitFor();
  } finally {
    agent.end();
  }
}, APART);

inPage("the server is away for a while: every tab says so, and shows what happened meanwhile", async (page) => {
  const agent = await project.agent().begin();
  // All that the tabs say to the server goes through here: another start of the server would have another token.
  let between = await front(studio.base);
  try {
    const run = await agent.open("small", "be small");
    const tabs = [page, await page.context().newPage()];
    for (const tab of tabs) {
      await tab.goto(`${between.base}#/run/${run}&token=${studio.token}`);
      await live(tab);
    }
    between.close();
    for (const tab of tabs) await tab.locator(".banner.bad", { hasText: "The server does not answer" }).waitFor();
    await agent.next("passed");
    between = await front(studio.base, between.port);
    const { head } = await studio.ask(`/runs/${run}`);
    for (const tab of tabs) {
      await tab.bringToFront();
      await live(tab);
      await at(tab, head);
    }
  } finally {
    agent.end();
    between.close();
  }
}, APART);

inPage("the token leaves the address at once, and a reload needs it no more", async (page) => {
  await page.goto(studio.at("/inbox"));
  assert.equal(await page.evaluate(() => location.hash), "#/inbox");
  await page.getByText("Nobody waits for you").waitFor();
  await page.reload();
  await page.getByText("Nobody waits for you").waitFor();
  assert.equal(await page.evaluate(() => location.hash), "#/inbox");
}, APART);

inPage("a wrong token, and none at all, are told with what to do", async (page, said) => {
  for (const fragment of ["#/definition/small", "#/definition/small&token=wrong"]) {
    await page.goto(`${studio.page}${fragment}`);
    await page.getByRole("heading", { name: "Open the address that the terminal shows" }).waitFor();
    for (const colorScheme of ["dark", "light"]) {
      await page.emulateMedia({ colorScheme });
      await soundIn(page, said, `${fragment}, ${colorScheme}`);
    }
    await page.goto("about:blank");
  }
  // It goes on from here, too.
  await page.goto(`${studio.page}#/definition/small&token=wrong`);
  await page.getByLabel("The address that was printed last").fill(`${studio.page}#token=${studio.token}`);
  await page.keyboard.press("Enter");
  await page.locator(".node").first().waitFor();
}, APART);

inPage("a token that is pasted into an open tab is never read as a name, nor sent in an address", async (page) => {
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.goto(studio.at("/"));
  await page.locator("a.entry").first().waitFor();
  await page.evaluate((token) => (location.hash = `#/definition/small&token=${token}`), studio.token);
  await page.locator(".node").first().waitFor();
  assert.equal(await page.evaluate(() => location.hash), "#/definition/small");
  // The address as it is printed names no screen: what is shown stays.
  await page.evaluate((token) => (location.hash = `#token=${token}`), studio.token);
  await page.waitForFunction(() => location.hash === "#/definition/small");
  await page.locator(".node").first().waitFor();
  assert.ok(asked.length > 3);
  assert.deepEqual(asked.filter((address) => address.split("#")[0].includes(studio.token) || /token/.test(address.split("#")[0])), []);
}, APART);

test("the address of a new start, given to each of two tabs, connects both", async () => {
  let restarted = await project.studio();
  const { context, page } = await open(browser);
  try {
    const tabs = [page, await context.newPage()];
    for (const tab of tabs) {
      await tab.goto(restarted.at("/definition/small"));
      await live(tab);
    }
    await restarted.kill();
    restarted = await project.studio("--port", restarted.port);
    for (const tab of tabs) {
      await tab.getByLabel("The address that was printed last").fill(`${restarted.page}#token=${restarted.token}`);
      await tab.keyboard.press("Enter");
      await live(tab);
    }
  } finally {
    await context.close();
    await restarted.kill();
  }
});

// Several tabs of one browser, and the token of the page.
import assert from "node:assert/strict";
import { inPage, prepare, project, studio } from "./suite.mjs";

prepare((project) => project.believe("bug-fix"));

const TABS = 8;

inPage("eight tabs share one stream; when the tab that reads it closes, another one does, and nothing is missing", async (page) => {
  const context = page.context();
  let streams = 0;
  context.on("request", (request) => (streams += Number(request.url().endsWith("/events"))));
  const agent = await project.agent().begin();
  const run = await agent.open("bug-fix", "the login fails");
  const pages = [page];
  while (pages.length < TABS) pages.push(await context.newPage());
  for (const tab of pages) {
    await tab.goto(studio.at(`/run/${run}`));
    await tab.waitForSelector(".badge");
  }
  const seen = (tab, head) => tab.waitForFunction((head) => document.querySelector(".slider-place b")?.textContent === String(head), head);
  const all = async () => {
    const { head } = await studio.ask(`/runs/${run}`);
    await Promise.all(pages.map((tab) => seen(tab, head)));
  };
  await agent.next("passed");
  await all();
  assert.equal(streams, 1);
  // The first tab reads for all of them.
  await pages.shift().close();
  await agent.next("passed");
  await all();
  assert.equal(streams, 2);
  agent.end();
});

inPage("without the token of this start the page says where to get it", async (page) => {
  await page.goto(`${studio.base}#token=wrong`);
  await page.getByText("Open the address that the terminal shows").waitFor();
  await page.goto(studio.base);
  await page.getByText("Open the address that the terminal shows").waitFor();
});

inPage("the token leaves the address at once, and is in no request", async (page) => {
  const asked = [];
  page.on("request", (request) => asked.push(request.url().split("#")[0]));
  await page.goto(studio.at("/inbox"));
  await page.waitForFunction(() => location.hash === "#/inbox");
  await page.reload();
  await page.waitForSelector("main");
  await page.evaluate((token) => (location.hash = `#/definition/bug-fix&token=${token}`), studio.token);
  await page.waitForSelector(".node");
  assert.equal(await page.evaluate(() => location.hash), "#/definition/bug-fix");
  assert.ok(!asked.some((url) => url.includes(studio.token)), "the token is in a request");
});

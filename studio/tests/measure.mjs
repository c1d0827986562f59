// What a person at the page waits for, with the real server: `PORTOLAN=… npm run --silent measure`. A benchmark, not a test.
import { gzipSync } from "node:zlib";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { launch, open } from "./browser.mjs";
import { Project } from "./project.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const binary = resolve(process.env.PORTOLAN ?? join(here, "../../target/release/portolan"));
const ROUNDS = Number(process.env.ROUNDS ?? 15);

const median = (figures) => figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)];
const ms = (figures) => `median ${median(figures).toFixed(0)} ms, worst ${Math.max(...figures).toFixed(0)} ms, of ${figures.length}`;
const tell = (what, figure) => console.log(`${what.padEnd(52)} ${figure}`);

/** A chain of tasks with a gate after every ninth. */
function chain(count) {
  const nodes = { start: { type: "start" } };
  const edges = [];
  let last = "start";
  for (let nth = 1; nth <= count - 2; nth += 1) {
    const gate = nth % 10 === 0;
    const id = `${gate ? "gate" : "task"}_${nth}`;
    nodes[id] = { type: gate ? "gate" : "task", name: `Step ${nth}`, instructions: `Do what step ${nth} is about, and say what came of it.` };
    edges.push({ from: last, to: id, ...(last === "start" ? {} : { on: "passed" }) });
    if (gate) edges.push({ from: id, to: `task_${nth - 1}`, on: "failed" });
    last = id;
  }
  nodes.done = { type: "end", result: "success" };
  edges.push({ from: last, to: "done", on: "passed" });
  return JSON.stringify({ name: `A chain of ${count}`, nodes, edges }, null, 1);
}

const round = {
  name: "Round",
  nodes: { start: { type: "start" }, fix: { type: "task" }, check: { type: "task", outputs: ["enough", "again"] }, done: { type: "end", result: "success" } },
  edges: [{ from: "start", to: "fix" }, { from: "fix", to: "check" }, { from: "check", to: "done", on: "enough" }, { from: "check", to: "fix", on: "again" }],
};

const project = new Project(binary);
project.example("examples/navigator/release/release.json", "release.json");
for (const count of [100, 1000, 9000]) project.write(`.flow/workflows/chain-${count}.json`, chain(count));
project.write(".flow/workflows/round.json", JSON.stringify(round));
project.commit();
const studio = await project.studio();
const browser = await launch();

async function inPage(run) {
  const { context, page } = await open(browser);
  try {
    return await run(page);
  } finally {
    await context.close();
  }
}

async function times(run, count = ROUNDS) {
  const figures = [];
  for (let nth = 0; nth < count; nth += 1) figures.push(await inPage(run));
  return figures;
}

async function opened(page, route, ready) {
  const began = performance.now();
  await page.goto(studio.at(route));
  await page.waitForSelector(ready);
  return performance.now() - began;
}

const dist = join(here, "../../crates/portolan/studio/dist");
const sizes = readdirSync(dist).map((file) => [file, gzipSync(readFileSync(join(dist, file)), { level: 9 }).length]);
tell("the page, all of it, gzip", `${(sizes.reduce((sum, [, size]) => sum + size, 0) / 1024).toFixed(0)} KB: ${sizes.map(([file, size]) => `${file} ${(size / 1024).toFixed(0)}`).join(", ")}`);

tell("first paint of the home screen, nothing cached", ms(await times(async (page) => {
  await opened(page, "/", ".entry");
  return page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
})));
tell("the home screen with its lists", ms(await times((page) => opened(page, "/", ".entry"))));
tell("a definition of 9 nodes", ms(await times((page) => opened(page, "/definition/release", ".node"))));
for (const count of [100, 1000]) tell(`a definition of ${count} nodes`, ms(await times((page) => opened(page, `/definition/chain-${count}`, ".node"))));
tell("a definition of 9,000 nodes", ms(await times((page) => opened(page, "/definition/chain-9000", ".node"), 3)));

/** From a key to the frame in which the graph shows it. */
async function keystrokes(page, id) {
  await page.goto(studio.at(`/definition/${id}`));
  await page.waitForSelector(".node");
  const first = await page.evaluate(() => [...document.querySelectorAll(".node .name")].map((name) => name.textContent).find((name) => name !== "start"));
  await page.waitForFunction((first) => document.querySelector(".code-host")?.shadowRoot?.textContent.includes(first), first);
  await page.evaluate((first) => {
    const root = document.querySelector(".code-host").shadowRoot;
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const at = walker.currentNode.data.indexOf(`"${first}"`);
      if (at < 0) continue;
      root.querySelector(".cm-content").focus();
      getSelection().collapse(walker.currentNode, at + 1 + first.length);
      return;
    }
  }, first);
  await page.waitForTimeout(200);
  const figures = [];
  let text = first;
  for (let nth = 0; nth < ROUNDS; nth += 1) {
    text += "x";
    await page.evaluate((text) => {
      addEventListener("keydown", () => (window.began = performance.now()), { once: true, capture: true });
      window.late = undefined;
      const look = () => {
        if ([...document.querySelectorAll(".node .name")].some((name) => name.textContent === text)) window.late = performance.now() - window.began;
        else requestAnimationFrame(look);
      };
      look();
    }, text);
    await page.keyboard.press("x");
    figures.push(await page.waitForFunction(() => window.late).then((late) => late.jsonValue()));
  }
  return figures;
}
tell("a key in the source to the graph, 9 nodes", ms(await inPage((page) => keystrokes(page, "release"))));
tell("a key in the source to the graph, 1,000 nodes", ms(await inPage((page) => keystrokes(page, "chain-1000"))));

/** Frames a second while something moves the picture, and the longest of them. */
async function frames(page, move) {
  await page.mouse.move(700, 350);
  const counted = page.evaluate(
    () =>
      new Promise((done) => {
        const at = [];
        const look = (now) => {
          at.push(now);
          if (now - at[0] < 2000) return requestAnimationFrame(look);
          const gaps = at.slice(1).map((time, nth) => time - at[nth]);
          done({ rate: (gaps.length * 1000) / (at.at(-1) - at[0]), longest: Math.max(...gaps) });
        };
        requestAnimationFrame(look);
      }),
  );
  const until = performance.now() + 2000;
  for (let nth = 0; performance.now() < until; nth += 1) await move(nth);
  return counted;
}
for (const count of [100, 1000]) {
  const pan = await inPage(async (page) => (await opened(page, `/definition/chain-${count}`, ".node"), frames(page, (nth) => page.mouse.wheel(0, nth % 60 < 30 ? 60 : -60))));
  tell(`panning ${count.toLocaleString("en")} nodes`, `${pan.rate.toFixed(0)} frames a second, longest ${pan.longest.toFixed(0)} ms`);
  const zoom = await inPage(async (page) => {
    await opened(page, `/definition/chain-${count}`, ".node");
    await page.keyboard.down("Control");
    return frames(page, (nth) => page.mouse.wheel(0, nth % 40 < 20 ? 60 : -60));
  });
  tell(`zooming ${count.toLocaleString("en")} nodes`, `${zoom.rate.toFixed(0)} frames a second, longest ${zoom.longest.toFixed(0)} ms`);
}

/** Agents move runs as fast as `rate` records a second; how late the page shows what has been acknowledged. */
async function behind(page, rate) {
  const agents = await Promise.all(Array.from({ length: 4 }, () => project.agent().begin()));
  const runs = [];
  for (const agent of agents) for (let nth = 0; nth < 25; nth += 1) runs.push({ agent, run: await agent.open("round", "go round"), told: agent.told, word: "passed" });
  const watched = runs[0].run;
  await page.goto(studio.at(`/run/${watched}`));
  await page.waitForSelector(".badge");
  await page.evaluate(() => {
    window.seen = [];
    const place = () => Number(document.querySelector(".slider-place b")?.textContent);
    let last = place();
    const look = () => {
      const now = place();
      if (now !== last) window.seen.push([(last = now), Date.now()]);
      requestAnimationFrame(look);
    };
    look();
  });
  const before = (await studio.ask(`/runs/${watched}`)).head;
  const acknowledged = [];
  let records = 0;
  const began = performance.now();
  const walk = async (mine) => {
    for (let nth = 0; performance.now() - began < 10_000; nth += 1) {
      const each = mine[nth % mine.length];
      each.agent.told = each.told;
      each.told = await each.agent.next(each.word);
      each.word = each.word === "passed" ? "again" : "passed";
      if (each.run === watched) acknowledged.push(Date.now());
      records += 1;
      const ahead = (records / rate) * 1000 - (performance.now() - began);
      if (ahead > 1) await new Promise((go) => setTimeout(go, ahead));
    }
  };
  await Promise.all(agents.map((agent) => walk(runs.filter((each) => each.agent === agent))));
  const reached = records / ((performance.now() - began) / 1000);
  const { head } = await studio.ask(`/runs/${watched}`);
  await page.waitForFunction((head) => Number(document.querySelector(".slider-place b")?.textContent) === head, head);
  const seen = await page.evaluate(() => window.seen);
  for (const agent of agents) agent.end();
  // The nth call of the watched run made it so many records long.
  const each = (head - before) / acknowledged.length;
  const late = acknowledged.map((at, nth) => (seen.find(([place]) => place >= before + Math.round((nth + 1) * each))?.[1] ?? Infinity) - at);
  return { reached, late };
}
{
  const { reached, late } = await inPage((page) => behind(page, 1000));
  tell(`an event to the screen, ${reached.toFixed(0)} moves a second, 100 runs`, ms(late));
}

await browser.close();
await studio.kill();
project.remove();

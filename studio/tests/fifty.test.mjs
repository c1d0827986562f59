// Fifty edits of each format that change something, by keyboard, on steps that chance chooses. After each of them, every line that
// is not of the steps that it names stands there byte for byte, comments included; undo leads back exactly; and what the screen
// shows in the end is what the file says.
import assert from "node:assert/strict";
import { test } from "node:test";
import { open } from "./browser.mjs";
import { browser, prepare, project, studio } from "./suite.mjs";

const EDITS = 50;
/** Of activities there is one more case, in files of their own: it is large, and of a format that has its fifty. */
const IN_FILES = ["work-package", 20];
/** What is refused, or says what stands there already, is tried again elsewhere: up to so many times in all. */
const TRIES = 150;
const DEFINITIONS = ["release", "follow-up", "inventory", "research", "delivery", IN_FILES[0]];
const FOLDER = ".flow/workflows";

prepare((project) => {
  project.example("examples/navigator/release/release.json", "release.json");
  project.example("examples/activities/follow-up.yaml", "follow-up.yaml");
  project.example("examples/activities/work-package", "work-package");
  project.example("examples/tool-graphs/inventory.yaml", "inventory.yaml");
  project.example("examples/agent-states/research", "research");
  project.example("crates/portolan-runtime/catalog/phases/delivery.yaml", "delivery.yaml");
  // Where the format knows comments, each step has one above it and one at its first line.
  for (const file of ["follow-up.yaml", "inventory.yaml", "delivery.yaml", "research/workflow.yaml"]) project.write(`${FOLDER}/${file}`, commented(project.read(`${FOLDER}/${file}`)));
  for (const file of project.git("ls-files", "--others", `${FOLDER}/work-package/activities`).trim().split("\n")) project.write(file, commented(project.read(file)));
});

/** The same text with comments at the steps: `- id: a`, `- { id: a, … }`, and what stands below `states:`. */
function commented(text) {
  let states = false;
  return text
    .split("\n")
    .flatMap((line, nth) => {
      if (/^\S/.test(line)) states = line.startsWith("states:");
      const [, indent, rest] = (states && /^( {2})(\w+:)$/.exec(line)) || /^(\s*)(- (?:\{ )?id: .*)$/.exec(line) || [];
      return rest === undefined ? [line] : [`${indent}# above ${nth}`, `${line} # beside ${nth}`];
    })
    .join("\n");
}

/** Numbers that are the same in each run of the test: mulberry32. */
function numbers(seed) {
  return (below) => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

/**
 * The texts of a definition as the page has them, from what it asks and is answered: each request carries them, and an edit that
 * is not refused has its answer taken over.
 */
class Texts {
  constructor(page, definition) {
    this.page = page;
    this.texts = textsOf(definition.files);
    this.id = definition.id;
    this.shown = this.named(definition.files, definition);
    this.wraps = definition.palette.some(({ wraps }) => wraps);
    /** What was done since somebody looked: operations with the drawing before and after, or nothing but other texts. */
    this.done = [];
    this.refused = [];
    this.open = 0;
    this.last = Date.now();
    const asks = (request) => /\/(checks|edits)$/.test(request.url());
    page.on("request", (request) => asks(request) && (this.open++, (this.last = Date.now())));
    page.on("requestfailed", (request) => asks(request) && (this.open--, (this.last = Date.now())));
    // One after another, as they came: what an answer says is looked at later.
    let before = Promise.resolve();
    page.on("requestfinished", (request) => {
      if (!asks(request)) return;
      before = before.then(async () => {
        await this.take(request.postDataJSON(), await (await request.response()).json());
        this.open--;
        this.last = Date.now();
      });
      before.catch((error) => (this.failed ??= error));
    });
  }

  async take({ files, do: operation }, answer) {
    const sent = textsOf(files);
    if (!same(sent, this.texts)) {
      this.done.push({ before: this.texts, after: sent });
      this.texts = sent;
      // An edit may come before what was undone is checked.
      if (operation !== undefined) this.shown = this.named(files, await studio.post(`/definitions/${this.id}/checks`, { files, folded: [], opened: [] }));
    }
    if (operation === undefined) {
      if (answer.drawing) this.shown = this.named(files, answer);
    } else if (answer.files) {
      const after = textsOf(answer.files);
      const is = this.named(answer.files, answer);
      this.done.push({ operation, before: this.texts, after, was: this.shown, is });
      this.texts = after;
      this.shown = is;
    } else {
      this.refused.push(operation);
    }
  }

  /** What is drawn, with the files that its places are in. */
  named(files, shown) {
    return { ...shown, names: files.map(({ name }) => name) };
  }

  /** Resolves when the page waits for nothing: no request is under way, and none has followed. */
  async settled() {
    this.last = Date.now();
    while (!this.failed && !this.page.isClosed() && (this.open > 0 || Date.now() - this.last < 45)) await new Promise((resolve) => setTimeout(resolve, 8));
  }

  taken() {
    if (this.failed) throw this.failed;
    return this.done.splice(0);
  }
}

/** Texts by the names of their files; those that are not there are left out. */
const textsOf = (files) => Object.fromEntries(files.filter(({ text }) => text !== null).map(({ name, text }) => [name, text]));
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** What an edit may touch: the lines of these steps, in a text as it was before or is after it. */
function touched({ names, about }, keys, named, file, text, goes) {
  const lines = text.split("\n");
  const own = new Set();
  const starts = [0];
  for (const line of lines) starts.push(starts.at(-1) + line.length + 1);
  for (const place of keys.map((key) => about[key].extent ?? about[key].place)) {
    if (!place || names[place.file] !== file) continue;
    lines.forEach((line, i) => {
      if (starts[i] < place.to && starts[i] + line.length > place.from) own.add(i);
    });
  }
  const words = [...named].map((id) => new RegExp(`(?<![\\w-])${id}(?![\\w-])`));
  const isNamed = (line) => words.some((word) => word.test(line));
  // A comment above a step goes with it; what follows its key is what a state extends over.
  const goesToo = (line) => isComment(line) || (/^\s*[\w-]+:/.test(line) && isNamed(line));
  if (goes) for (let i = lines.length - 2; i >= 0; i--) if (own.has(i + 1) && goesToo(lines[i])) own.add(i);
  return { lines, isOwn: (i) => own.has(i), isNamed };
}

/** The edges of states, which may all stand in one line, each in a line of its own; a list itself comes and goes with what is in it. */
function inLines(line) {
  if (/^\s*(steps|transitions|on_failure):$/.test(line)) return [];
  const [, edges] = /^transitions: \{(.*)\}$/.exec(line) ?? [];
  return edges === undefined ? [line] : edges.split(",").map((edge) => `  ${edge.trim()}`);
}

const isComment = (line) => /^\s*#/.test(line);

/** The steps that an operation names, by their keys in a drawing. */
function namedIn(operation, { drawing, about }) {
  const ends = operation.edge === undefined ? [] : drawing.edges.filter(({ id }) => id === operation.edge).flatMap(({ from, to }) => [from, to]);
  const keys = [operation.node, operation.after, operation.from, operation.to, ...(operation.nodes ?? []), ...ends].filter((key) => key && about[key]);
  // A box stands for the node at its beginning, and what is in it belongs to it.
  const inside = drawing.nodes.filter((node) => keys.some((key) => node.parent === key)).map(({ id }) => id);
  return [...new Set([...keys, ...inside, ...Object.keys(about).filter((key) => keys.some((named) => about[named].id === about[key].id))])];
}

/** Every line that is not of the steps that the operation names is the same as before, and where it was among the others. */
function onlyItsOwn({ operation, before, after, was, is }) {
  const what = JSON.stringify(operation);
  // What comes into being by it, or goes, is of it, too. In the drawing steps may be others for it: what is written has its ids.
  const idsOf = ({ about }) => new Set(Object.values(about).map(({ id }) => id));
  const those = (shown, of) => Object.keys(shown.about).filter((key) => of(shown.about[key].id));
  const named = new Set(namedIn(operation, was).map((key) => was.about[key].id));
  const [ours, theirs] = [idsOf(was), idsOf(is)];
  // Where the first step goes, the one behind it becomes the first, wherever it stood.
  const starts = was.drawing.nodes.filter(({ kind }) => kind === "start").map(({ id }) => id);
  const isOurs = (key) => named.has(was.about[key]?.id);
  if (operation.is === "delete" && was.drawing.edges.some(({ from, to }) => starts.includes(from) && isOurs(to))) for (const { to } of was.drawing.edges.filter(({ from }) => isOurs(from))) if (was.about[to]) named.add(was.about[to].id);
  // An edge that goes, or comes, is led on among the steps around it.
  const around = (shown, keys) => shown.drawing.edges.flatMap(({ from, to }) => (keys.includes(from) || keys.includes(to) ? [from, to] : [])).map((key) => shown.about[key]?.id ?? key);
  const keys = those(was, (id) => named.has(id) || !theirs.has(id));
  const now = those(is, (id) => named.has(id) || !ours.has(id));
  const ids = new Set([...keys.flatMap((key) => [key, was.about[key].id]), ...now.flatMap((key) => [key, is.about[key]?.id ?? key]), ...around(was, keys), ...around(is, now), ...(operation.is === "rename" ? [operation.to] : [])].flatMap((id) => [id, id.split(/[./:]/).at(-1)]));
  for (const file of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (before[file] === after[file]) continue;
    const rest = (texts, shown, keys) => {
      const { lines, isOwn, isNamed } = touched(shown, keys, ids, file, texts[file] ?? "", operation.is === "delete");
      const others = lines.flatMap((line, i) => (isOwn(i) ? [] : inLines(line)));
      // With a step that goes, a comment may go that stands above it, and need not.
      return others.filter((line) => line.trim() !== "" && (isComment(line) ? operation.is !== "delete" : !isNamed(line))).map((line) => (file.endsWith(".json") ? line.replace(/,$/, "") : line));
    };
    // A file that goes, or comes, is of the activity in it as a whole.
    if (before[file] === undefined || after[file] === undefined) continue;
    assert.deepEqual(rest(after, is, now), rest(before, was, keys), `${file}, by ${what}`);
    const { lines, isOwn } = touched(was, keys, ids, file, before[file], operation.is === "delete");
    const comments = after[file].split("\n").filter(isComment);
    for (const comment of lines.filter((line, i) => isComment(line) && !isOwn(i))) assert.ok(comments.includes(comment), `${file}: ${comment} is gone, by ${what}`);
  }
  if (operation.is === "rename") renamed(operation, before, after, was, what);
  if (operation.is !== "delete") {
    const kept = (texts) => Object.values(texts).flatMap((text) => text.match(/# (above|beside) \d+\b|^\s*#.*$/gm) ?? []);
    const are = kept(after);
    for (const comment of kept(before)) assert.ok(are.includes(comment), `${comment} is gone, by ${what}`);
  }
}

/** Of a rename, the lines are as many as before, and differ in nothing but the name. */
function renamed({ node, to }, before, after, was, what) {
  const { id } = was.about[node];
  const short = id.split(/[./]/).at(-1);
  for (const file of Object.keys(before)) {
    const plain = (text) => text.replaceAll(to, short);
    assert.equal(plain(after[file]), plain(before[file]), `${file}, by ${what}`);
  }
}

/** Closes what a refusal has left open. */
async function closed(page, texts) {
  await texts.settled();
  for (let i = 0; i < 3 && (await page.locator("dialog[open]").count()) > 0; i++) {
    await page.keyboard.press("Escape");
    await texts.settled();
  }
}

async function edit(page, pick, nth, texts) {
  const { keyboard } = page;
  await page.locator("[data-graph]").focus();
  // On from where it was, and past what cannot be changed: a start, or an end that nobody has written.
  const selected = () => new URLSearchParams(page.url().split("?")[1]).get("node");
  for (let steps = pick(2); steps > -6 && (steps >= 0 || texts.shown.about[selected()]?.editable !== true); steps--) await keyboard.press(["ArrowDown", "ArrowDown", "ArrowUp", "ArrowRight"][pick(4)]);
  const dialog = page.locator("dialog[open]");
  const words = page.locator("aside[aria-label=Details] [data-form] textarea").first();
  let kind = pick(9);
  if ((kind === 7 && !texts.wraps) || (kind === 8 && (await words.count()) === 0)) kind = pick(6);
  if (kind === 0) {
    await keyboard.press("F2");
    if (await dialog.count()) {
      await dialog.getByLabel(/^Id/).fill(`n${nth}`);
      await keyboard.press("Enter");
    }
  } else if (kind < 3) {
    await keyboard.press("a");
    await dialog.waitFor();
    const kinds = dialog.getByRole("radio");
    await kinds.nth(pick(await kinds.count())).check();
    await dialog.getByLabel(/^Id/).fill(`added${nth}`);
    await keyboard.press("Enter");
  } else if (kind === 3) {
    await keyboard.press("Control+d");
  } else if (kind === 4) {
    await keyboard.press("Delete");
    if (await dialog.count()) await keyboard.press("Enter");
  } else if (kind === 5) {
    await keyboard.press("c");
    for (let questions = 0; questions < 2 && (await dialog.count()) > 0; questions++) {
      for (let steps = pick(5); steps > 0; steps--) await keyboard.press("ArrowDown");
      await keyboard.press("Enter");
      await texts.settled();
    }
  } else if (kind === 6) {
    await keyboard.press("e");
    await keyboard.press(["Delete", "Control+z"][pick(2)]);
  } else if (kind === 7) {
    await keyboard.press("w");
    if (await dialog.count()) await keyboard.press("Enter");
  } else {
    await words.fill(`Words: "${nth}", and # more.\nA second line.`);
    await keyboard.press("Tab");
  }
  await closed(page, texts);
}

/** The steps and edges that are drawn, with their names and labels. */
const shown = (page) =>
  page.evaluate(() => ({
    nodes: [...document.querySelectorAll(".react-flow__node")].map((node) => `${node.dataset.id} ${node.querySelector(".name, .bar-name")?.textContent}`).sort(),
    edges: [...document.querySelectorAll("[data-edge]")].map((edge) => `${edge.dataset.edge} ${edge.querySelector("text")?.textContent ?? ""}`).sort(),
  }));

/** All of the graph comes on the screen: what is beside it is not drawn. */
async function showAll(page, { nodes, edges }, what) {
  // So large that the largest of them is not far: what is far is painted, and nothing of it is drawn as a node.
  await page.setViewportSize({ width: 4000, height: 14000 });
  await page.locator("[data-graph]").focus();
  const drawn = () => page.evaluate(() => [document.querySelectorAll(".react-flow__node").length, document.querySelectorAll("[data-edge]").length]);
  const expected = [nodes.length, edges.length];
  let found = [];
  for (const end = Date.now() + 120_000; Date.now() < end; ) {
    // The graph may learn of its new size after a key, which then fits it into the old one.
    await page.keyboard.press("0");
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    found = await drawn();
    if (String(found) === String(expected)) return;
  }
  assert.deepEqual(found, expected, `${what}: the nodes and edges that are drawn`);
}

async function fiftyEdits(page, id, pick) {
  const texts = new Texts(page, await studio.ask(`/definitions/${id}`));
  await page.goto(studio.at(`/definition/${id}`));
  await page.waitForSelector(".react-flow__node");
  /** The texts before each step of the history that undo can still go back over. */
  const past = [];
  const kinds = {};
  let done = 0;
  let undone = 0;
  let tries = 0;
  const edits = id === IN_FILES[0] ? IN_FILES[1] : EDITS;
  for (; done < edits && tries < TRIES; tries++) {
    await edit(page, pick, tries, texts);
    for (const change of texts.taken()) {
      const { operation, before, after } = change;
      if (operation === undefined) {
        const back = past.findLastIndex((texts) => same(texts, after));
        assert.ok(back >= 0, `${id}: undo leads to a text that there has not been`);
        undone += past.splice(back).length;
      } else if (!same(before, after)) {
        onlyItsOwn(change);
        past.push(before);
        kinds[operation.is] = (kinds[operation.is] ?? 0) + 1;
        done++;
      }
    }
  }
  assert.ok(done >= edits, `${id}: ${done} edits of ${tries} have changed the text, ${JSON.stringify(kinds)}`);
  await page.locator("[data-graph]").focus();
  await page.keyboard.press("Control+s");
  await page.waitForSelector("dialog[open] .diff-lines");
  await page.locator("dialog .actions .primary").click();
  await page.waitForSelector("dialog", { state: "detached" });
  await page.locator(".work-actions .primary:text-is('Saved')").waitFor();
  // What was written is what the edits came to, and nothing else.
  const stored = await studio.ask(`/definitions/${id}`);
  for (const [file, text] of Object.entries(texts.texts)) assert.equal(project.read(file), text, file);
  assert.deepEqual(stored.files.map(({ name }) => name).sort(), Object.keys(texts.texts).sort(), id);
  // Read anew, the file says what the screen shows; a text that cannot be read would be drawn by neither.
  assert.equal(stored.sound, true, id);
  const { nodes, edges } = stored.drawing;
  await showAll(page, stored.drawing, id);
  const screen = await shown(page);
  assert.deepEqual(screen.nodes.map((node) => node.split(" ")[0]), nodes.map((node) => node.id).sort(), id);
  await page.reload();
  await page.goto(studio.at(`/definition/${id}`));
  await page.waitForSelector(".react-flow__node");
  await showAll(page, stored.drawing, id);
  assert.deepEqual(await shown(page), screen, id);
  return `${id}: ${done} edits have changed the text (${Object.entries(kinds).map(([kind, count]) => `${count} ${kind}`).join(", ")}); ${texts.refused.length} were refused, ${undone} undone, of ${tries} tries`;
}

test("fifty edits of each format", async (t) => {
  // Beside each other: most of the time each waits for its page.
  const told = DEFINITIONS.map(async (id, seed) => {
    const { context, page, said } = await open(browser);
    try {
      const told = await fiftyEdits(page, id, numbers(seed + 1));
      assert.deepEqual(said, [], id);
      return told;
    } finally {
      await context.close();
    }
  });
  const all = await Promise.allSettled(told);
  for (const { value, reason } of all) t.diagnostic(value ?? String(reason));
  for (const { reason } of all) if (reason) throw reason;
});

// What the tests with the real server share: a project, a studio over it, a browser. PORTOLAN names the binary, PICTURES a folder
// for pictures of the screens; with PAGE=dist the page comes from the folder where it is built.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { launch, open } from "./browser.mjs";
import { Project } from "./project.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const binary = resolve(process.env.PORTOLAN ?? join(here, "../../target/debug/portolan"));
const pictures = process.env.PICTURES && resolve(process.env.PICTURES);

export let browser;
export let project;
export let studio;
/** The context that the tests of a file share. */
let shared;

/** Begins with a project that `fill` puts definitions into; the browser is given `words` besides. */
export function prepare(fill, ...words) {
  before(async () => {
    if (pictures) mkdirSync(pictures, { recursive: true });
    project = new Project(binary);
    fill(project);
    project.commit();
    studio = await project.studio();
    browser = await launch(...words);
  });
  after(async () => {
    await browser?.close();
    await studio?.kill();
    project?.remove();
  });
}

/** For a test that needs a context of its own. */
export const APART = {};

/** Runs a test in a page of its own, which must have nothing to complain of. With `options` it has a context of its own, too. */
export function inPage(name, run, options) {
  test(name, async (t) => {
    // Where another page of the context stays open, the browser has the page's scripts compiled already.
    if (!options) shared ??= (await open(browser)).context;
    const { context, page, said } = await open(browser, options, shared);
    try {
      await run(page, said, t);
      assert.deepEqual(said, []);
    } finally {
      if (options) await context.close();
      else await emptied(page);
    }
  });
}

/** Takes away what a test leaves in the shared context. */
async function emptied(page) {
  if (/^http/.test(page.url())) await page.evaluate(() => localStorage.clear()).catch(() => {});
  const [, ...opened] = shared.pages();
  for (const page of opened) await page.close();
}

export async function picture(page, name) {
  if (pictures) await page.screenshot({ path: join(pictures, `${name}.png`) });
}

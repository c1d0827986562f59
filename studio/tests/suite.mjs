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

/** Runs a test in a page of its own, which must have nothing to complain of. */
export function inPage(name, run, options) {
  test(name, async (t) => {
    const { context, page, said } = await open(browser, options);
    try {
      await run(page, said, t);
      assert.deepEqual(said, []);
    } finally {
      await context.close();
    }
  });
}

export async function picture(page, name) {
  if (pictures) await page.screenshot({ path: join(pictures, `${name}.png`) });
}

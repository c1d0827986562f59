// Somebody else writes the file while its difference is looked at: what is written then, byte for byte, for each choice.
import assert from "node:assert/strict";
import { Hands } from "./hands.mjs";
import { inPage, prepare, project } from "./suite.mjs";

const FILE = ".flow/workflows/sums.yaml";
// With comments, quotes of all kinds and blank lines, and without an end of the last line: none of it is anybody's change.
const LINES = `version: "1.0"
server: {name: sums, version: '1'}   # its name is that of the tool

tools:
  - name: sum
    description: Adds two numbers
    inputSchema: {type: object,  required: [a]}
    nodes:
      - {id: entry, type: entry, next: add}

      # The sum itself.
      - id: add
        name: "Add them"
        type: transform
        transform: {expr: '{"sum": $.entry.a + 1}'}
        next: told
      - id: told
        name: Tell it
        type: transform
        transform: {expr: '$.add'}
        next: exit
      - {id: exit, type: exit}`;

prepare((project) => project.write(FILE, LINES));

// What is typed into a field is written without quotes where none are needed. Both change the name of one step; besides, each changes a line that the other one leaves.
const mine = (text) => text.replace('"Add them"', "Add both").replace("name: Tell it", "name: Tell the sum");
const theirs = (text) => text.replace('"Add them"', '"Sum up"   # as Bob says').replace("Adds two numbers", "Adds a number and one");

/** What is on disk after a conflict that somebody has decided; the lines of the file end with `end`. */
function decided(name, end, decide, expected) {
  const base = LINES.replaceAll("\n", end);
  inPage(name, async (page) => {
    project.write(FILE, base);
    const hands = new Hands(page);
    await hands.at("sums", "add");
    await page.locator(".link-state.live").waitFor();
    await hands.fill("Name", "Add both");
    await hands.click("told");
    await hands.fill("Name", "Tell the sum");
    await page.keyboard.press("Control+s");
    const dialog = page.getByRole("dialog");
    await dialog.locator(".diff-lines").waitFor();
    project.write(FILE, theirs(base));
    await dialog.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("dialog", { name: "It was changed on disk meanwhile" }).waitFor();
    await dialog.getByText("1 to choose").waitFor();
    assert.equal(project.read(FILE), theirs(base), "nothing was written over");
    await decide(page, dialog, hands);
    await page.locator(".work-actions .primary:text-is('Saved')").waitFor();
    assert.equal(project.read(FILE), expected(base));
  });
}

/** What was chosen is looked at once more, and saved. */
async function use(dialog, hands) {
  await dialog.getByRole("button", { name: "Use this" }).click();
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await hands.closed();
}

decided(
  "all of theirs is taken: the file stays as they wrote it",
  "\n",
  async (page, dialog, hands) => {
    await dialog.getByRole("button", { name: "Take all of theirs" }).click();
    await dialog.getByText("Everything is chosen").waitFor();
    await dialog.getByRole("button", { name: "Use this" }).click();
    await hands.closed();
    await page.locator(".outline .name:text-is('Sum up')").waitFor();
  },
  theirs,
);

decided(
  "all of one's own is kept: the file is what was on the screen",
  "\r\n",
  async (_page, dialog, hands) => {
    await dialog.getByRole("button", { name: "Take all of mine" }).click();
    await use(dialog, hands);
  },
  mine,
);

decided(
  "both are put together, with their word where they differ",
  "\r\n",
  async (_page, dialog, hands) => {
    // Nothing is chosen silently where both have changed a line.
    assert.ok(await dialog.getByRole("button", { name: "Use this" }).isDisabled());
    await dialog.locator(".merge-changed", { hasText: "Sum up" }).locator("label", { hasText: "On disk now" }).click();
    await use(dialog, hands);
  },
  (base) => theirs(base).replace("name: Tell it", "name: Tell the sum"),
);

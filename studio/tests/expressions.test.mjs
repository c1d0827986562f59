// Expressions are evaluated in the form of a definition while they are written, with the real server.
import assert from "node:assert/strict";
import { soundIn } from "./browser.mjs";
import { inPage, picture, prepare, project, studio } from "./suite.mjs";

const FILE = ".flow/workflows/sums.yaml";

prepare((project) => {
  project.write(
    FILE,
    `version: "1.0"
server: {name: sums, version: "1"}
tools:
  - name: sum
    description: Adds two numbers
    inputSchema: {type: object, properties: {a: {type: integer}, b: {type: integer}}, required: [a, b]}
    nodes:
      - {id: entry, type: entry, next: add}
      - {id: add, type: mcp, server: echo, tool: add, args: {a: 1}, next: told}
      # What it says at last.
      - {id: told, type: transform, transform: {expr: '$.add.sum'}, next: exit}
      - {id: exit, type: exit}
`,
  );
  project.write(
    ".flow/workflows/sums.test.yaml",
    `mock: {add: {sum: 1}}
tests:
  - {name: a large sum, input: {a: 400, b: 4}, mock: {add: {sum: 404}}, expect: 404}
  - {name: the shared answer, input: {a: 1, b: 0}, expect: 1}
`,
  );
});

inPage("an expression shows what it comes to over the last run, its names complete, and an error has its place", async (page, complaints) => {
  const { run } = await studio.post("/definitions/sums/try", { input: { a: 2, b: 40 }, answers: { add: { sum: 42 } } });
  assert.ok(run);
  for (;;) if ((await studio.ask(`/runs/${run}`)).over) break;
  const { palette } = await studio.ask("/definitions/sums");
  const field = palette.find(({ kind }) => kind === "transform").fields.find(({ type }) => type === "expression");
  await page.goto(studio.at("/definition/sums?node=told"));
  await page.waitForSelector(".node.selected");
  const area = page.getByLabel(new RegExp(`^${field.label}( required)?$`));
  await page.waitForSelector(".evaluated:has-text('number 42')");
  await area.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.type('{"twice": $.ad');
  await page.waitForSelector("[role=listbox][aria-label=Names] [aria-selected=true]:has-text('add')");
  await soundIn(page, complaints, "names");
  // Escape closes the names, and nothing else.
  await page.keyboard.press("Escape");
  await page.waitForSelector("[role=listbox][aria-label=Names]", { state: "detached" });
  assert.equal(await area.inputValue(), '{"twice": $.ad');
  await page.keyboard.press("Control+Space");
  await page.waitForSelector("[role=listbox][aria-label=Names] [aria-selected=true]:has-text('add')");
  await page.keyboard.press("Tab");
  await page.keyboard.type(".sum * )");
  await page.waitForSelector(".evaluated mark:has-text(')')");
  await soundIn(page, complaints, "an error");
  await page.keyboard.press("Backspace");
  await page.keyboard.type("2}");
  await page.waitForSelector(".evaluated:has-text('object {\"twice\":84}')");
  await picture(page, "expression");
  assert.match(project.read(FILE), /'\$\.add\.sum'/, "nothing is written by it");
  // A test says what its nodes come to as it runs, with the answers that are written for it.
  await page.getByLabel("Expressions are evaluated over").selectOption("test:a large sum");
  await page.waitForSelector(".evaluated:has-text('object {\"twice\":808}')");
  await page.getByLabel("Expressions are evaluated over").selectOption("test:the shared answer");
  await page.waitForSelector(".evaluated:has-text('object {\"twice\":2}')");
  await soundIn(page, complaints, "over a test");
  await page.getByLabel("Expressions are evaluated over").selectOption("own");
  await page.getByLabel("Values, as a JSON object").fill('{ "outputs": { "add": { "sum": 5 } } }');
  await page.waitForSelector(".evaluated:has-text('{\"twice\":10}')");
});

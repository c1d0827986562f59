// A second writer who knows nothing of the studio writes the file itself, between what the studio is asked and what it is told.
import assert from "node:assert/strict";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { prepare, project, studio } from "./suite.mjs";

const FILE = ".flow/workflows/small.json";
const SMALL = { name: "0", description: "0", nodes: { start: { type: "start" }, work: { type: "task" }, done: { type: "end", result: "success" } }, edges: [{ from: "start", to: "work" }, { from: "work", to: "done" }] };

prepare((project) => project.write(FILE, JSON.stringify(SMALL, null, 2)));

/** A field of its own for each of them: the studio has the description, the other one the name. */
const read = (text, field) => Number(new RegExp(`"${field}": "(\\d+)"`).exec(text)[1]);
const written = (text, field, value) => text.replace(new RegExp(`"${field}": "\\d+"`), `"${field}": "${value}"`);

/** An editor: it reads the file, and writes it in place or moves another one over it. Nobody else's step comes between. */
function direct(value, inPlace) {
  const path = join(project.path, FILE);
  const text = written(readFileSync(path, "utf8"), "name", value);
  if (inPlace) writeFileSync(path, text);
  else {
    writeFileSync(`${path}~`, text);
    renameSync(`${path}~`, path);
  }
  return text;
}

async function save({ revision, files: [file] }, text) {
  const headers = { Authorization: `Bearer ${studio.token}`, "content-type": "application/json" };
  const answer = await fetch(`${studio.base}api/v1/definitions/small/source`, { method: "PUT", headers, body: JSON.stringify({ revision, files: [{ ...file, text }] }) });
  return { status: answer.status, told: await answer.json() };
}

test("of two hundred saves beside a writer of the file itself each is in the file, or was refused with what is there", async () => {
  let [mine, theirs, conflicts] = [read(project.read(FILE), "description"), read(project.read(FILE), "name"), 0];
  for (let nth = 0; nth < 150; nth += 1) {
    const whole = await studio.ask("/definitions/small");
    const seen = whole.files[0].text;
    assert.deepEqual([read(seen, "description"), read(seen, "name")], [mine, theirs], "what is read is what was written last");
    // In two of five cases the file is written before the save, in place or moved there.
    const meanwhile = nth % 5 < 2 ? direct((theirs += 1), nth % 5 === 0) : null;
    const text = written(seen, "description", mine + 1);
    const { status, told } = await save(whole, text);
    if (meanwhile === null) {
      assert.equal(status, 200);
      mine += 1;
      assert.equal(project.read(FILE), text);
    } else {
      conflicts += 1;
      assert.equal(status, 409);
      assert.equal(project.read(FILE), meanwhile, "what somebody else wrote stays");
      assert.equal(told.current.files[0].text, meanwhile);
      // With what is told there the edit is made again, at once.
      const again = written(meanwhile, "description", (mine += 1));
      assert.equal((await save(told.current, again)).status, 200);
      assert.equal(project.read(FILE), again);
    }
  }
  assert.equal(conflicts, 60);
  const last = JSON.parse(project.read(FILE));
  assert.deepEqual([last.description, last.name], ["150", "60"]);
});

test("a file that is written while a save is under way is not written over", async () => {
  let lost = 0;
  let inTime = 0;
  for (let nth = 0; nth < 40; nth += 1) {
    const whole = await studio.ask("/definitions/small");
    const seen = whole.files[0].text;
    let answered = false;
    const saving = save(whole, written(seen, "description", read(seen, "description") + 1)).finally(() => (answered = true));
    // At another time after each request, up to a few milliseconds.
    const when = performance.now() + (nth % 40) / 8;
    while (performance.now() < when) await new Promise((turn) => setImmediate(turn));
    const value = read(seen, "name") + 1;
    if (!answered) inTime += 1;
    direct(value, false);
    const { status } = await saving;
    assert.ok(status === 200 || status === 409, String(status));
    if (read(project.read(FILE), "name") !== value) lost += 1;
  }
  assert.ok(inTime > 10, `${inTime} were written while a save was under way`);
  assert.equal(lost, 0, `${lost} of ${inTime} were lost`);
});

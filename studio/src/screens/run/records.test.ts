import assert from "node:assert/strict";
import { test } from "node:test";
import type { RecordLine } from "../../api/types";
import { PAGE, Records } from "./records";

const record = (seq: number): RecordLine => ({ seq, at: 0, by: { is: "engine", name: null }, kind: "x", text: `${seq}` });

test("only the pages in view are loaded, each once", async () => {
  const asked: number[] = [];
  const records = new Records("r", async (_, after) => {
    asked.push(after);
    return { records: Array.from({ length: PAGE }, (_, i) => record(after + i + 1)), head: 100_000 };
  });
  records.need(PAGE * 50 - 5, PAGE * 50 + 5);
  records.need(PAGE * 50 - 4, PAGE * 50 + 6);
  await new Promise((resolve) => setTimeout(resolve));
  records.need(PAGE * 50 - 5, PAGE * 50 + 5);
  assert.deepEqual(asked, [49 * PAGE, 50 * PAGE]);
  assert.equal(records.at(PAGE * 50 + 1)?.text, `${PAGE * 50 + 1}`);
  assert.equal(records.at(1), undefined);
});

test("a gap between loaded and streamed records is loaded", async () => {
  const asked: number[] = [];
  const records = new Records("r", async (_, after) => {
    asked.push(after);
    return { records: [1, 2, 3, 4, 5].map(record), head: 5 };
  });
  records.add([record(1), record(2), record(5)]);
  records.need(1, 2);
  assert.deepEqual(asked, []);
  records.need(1, 5);
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(records.at(4)?.text, "4");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { DefinitionEntry, RunEntry } from "../../api/types";
import { elsewhere } from "./elsewhere";

const run = (run: string, workflow: string) => ({ run, workflow }) as RunEntry;
const definition = (id: string, roots: string[]) => ({ id, roots }) as DefinitionEntry;

test("a workflow of runs that no definition has is told once, with the run that moved last", () => {
  const runs = [run("r4", "sum"), run("r3", "ship"), run("r2", "sum"), run("r1", "old")];
  assert.deepEqual(elsewhere([definition("ship", ["ship"])], runs), [
    { workflow: "sum", runs: 2, last: "r4" },
    { workflow: "old", runs: 1, last: "r1" },
  ]);
});

test("a function is known by its name in its file, and nothing is said before the definitions are there", () => {
  assert.deepEqual(elsewhere([definition("sums", ["sum"])], [run("r1", "sum")]), []);
  assert.deepEqual(elsewhere(null, [run("r1", "sum")]), []);
});

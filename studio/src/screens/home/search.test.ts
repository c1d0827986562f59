import assert from "node:assert/strict";
import { test } from "node:test";
import type { Halt, RunEntry } from "../../api/types";
import { matches, textsOf } from "./search";

const run = { run: "r1", workflow: "mail", step: "send", status: "failure", description: "Tell Ada" } as RunEntry;
const halt = { turn: "nobody", stepName: "Send the letter", asks: null, last: null, failed: [{ node: "send", check: null, reason: "no route to Atlantis", output: "" }] } as unknown as Halt;

test("a run is found by all that its row shows: the reason, the purpose, the position, the name of the workflow", () => {
  const texts = textsOf(run, "Daily mail", halt);
  for (const words of ["atlantis", "ada", "send the letter", "daily", "it failed", "r1 atlantis"]) assert.ok(matches(words, ...texts), words);
  assert.ok(!matches("lemuria", ...texts));
});

test("a run that waits for a person is found by any word of the question", () => {
  const asks = `${"Is it long? ".repeat(20)}\nShip it to Lemuria?`;
  assert.ok(matches("lemuria", ...textsOf({ ...run, status: "waiting" }, "Mail", { ...halt, turn: "person", asks, failed: [] })));
});

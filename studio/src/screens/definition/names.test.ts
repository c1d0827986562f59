import assert from "node:assert/strict";
import { test } from "node:test";
import type { Kind } from "../../api/types";
import { choiceOf, idOf } from "./names";

test("an id is made of a title, as the others are made, and is nobody's", () => {
  assert.equal(idOf("Review the Notes!", new Set(["write_notes"])), "review_the_notes");
  assert.equal(idOf("Review the notes", new Set(["write-notes"])), "review-the-notes");
  assert.equal(idOf("Prüfung", new Set(["prufung"])), "prufung-2");
  assert.equal(idOf("2 eyes", new Set()), "step_2_eyes");
  assert.equal(idOf(" !", new Set()), "");
});

test("letters choose a kind, and one letter again and again goes through its kinds", () => {
  const kinds = ["Step", "Checkpoint (a person)", "Action", "Activity"].map((label) => ({ kind: label.split(" ")[0], label })) as Kind[];
  const typed = (chosen: string, text: string) => choiceOf(kinds, chosen, text)?.kind;
  assert.deepEqual(["c", "p", "act", "activ", "x", "ax"].map((text) => typed("Step", text)), ["Checkpoint", "Checkpoint", "Action", "Activity", undefined, undefined]);
  assert.deepEqual([typed("Step", "a"), typed("Action", "aa"), typed("Activity", "aaa"), typed("Action", "a")], ["Action", "Activity", "Action", "Activity"]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { idOf } from "./names";

test("an id is made of a title, as the others are made, and is nobody's", () => {
  assert.equal(idOf("Review the Notes!", new Set(["write_notes"])), "review_the_notes");
  assert.equal(idOf("Review the notes", new Set(["write-notes"])), "review-the-notes");
  assert.equal(idOf("Prüfung", new Set(["prufung"])), "prufung-2");
  assert.equal(idOf("2 eyes", new Set()), "step_2_eyes");
  assert.equal(idOf(" !", new Set()), "");
});

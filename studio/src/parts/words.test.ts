import assert from "node:assert/strict";
import { test } from "node:test";
import type { Author } from "../api/types";
import { inShort } from "./words";

const agent: Author = { is: "agent", name: "pilot" };

test("what a report leads to stands before its note", () => {
  const text = 'agent pilot reported passed in `docs` ("All (12) tests pass, "smoke" → green") → checks of `build`';
  assert.equal(inShort({ text, by: agent }), 'reported passed in `docs` → checks of `build` · “All (12) tests pass, "smoke" → green”');
  assert.equal(inShort({ text: 'agent pilot reported failed ("no")', by: agent }), "reported failed · “no”");
});

test("other records are as they are told, without who did it", () => {
  assert.equal(inShort({ text: "agent pilot reported passed → `build`", by: agent }), "reported passed → `build`");
  assert.equal(inShort({ text: "portolan checked `tests` of `build`: it held", by: { is: "engine", name: null } }), "checked `tests` of `build`: it held");
  assert.equal(inShort({ text: "portolan went on → `twice` failed: no number", by: { is: "engine", name: null } }), "`twice` failed: no number");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { inShort } from "./inputs";

test("an input stands in one line", () => {
  assert.equal(inShort({ a: 2, who: "Ada\n  Lovelace", list: [1, { b: null }] }), 'a: 2, who: Ada Lovelace, list: [1,{"b":null}]');
  assert.equal(inShort(null), "");
});

test("a long one is cut", () => {
  assert.match(inShort({ text: "x".repeat(500) }), /^text: x{153}…$/);
});

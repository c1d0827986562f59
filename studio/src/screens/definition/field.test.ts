import assert from "node:assert/strict";
import { test } from "node:test";
import type { Field } from "../../api/types";
import { textOf, valueOf } from "./field";

const field = (type: Field["type"], more: Partial<Field> = {}): Field => ({ path: "x", label: "X", help: "", type, required: false, ...more });

test("a value goes through its text unchanged", () => {
  const values: [Field["type"], unknown][] = [["text", "a b"], ["long", "a\n\nb\n"], ["number", 2.5], ["boolean", false], ["list", ["a", "b c"]], ["json", { a: [1, null] }], ["expression", "$.x > 1"], ["choice", "one"]];
  for (const [type, value] of values) assert.deepEqual(valueOf(field(type), textOf(field(type), value)), { value });
});

test("nothing takes the field away, unless it is required", () => {
  assert.deepEqual(valueOf(field("text"), "  "), { value: null });
  assert.ok("problem" in valueOf(field("text", { required: true }), ""));
});

test("what cannot be read is not sent", () => {
  assert.ok("problem" in valueOf(field("number"), "many"));
  assert.ok("problem" in valueOf(field("json"), "{"));
});

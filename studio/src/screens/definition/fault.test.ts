import assert from "node:assert/strict";
import { test } from "node:test";
import type { Definition, Field, Problem } from "../../api/types";
import { faultOf, isOtherName } from "./fault";

const definition = { palette: [{ kind: "gate", fields: [{ path: "maxRetries", label: "Retries" }, { path: "deny", label: "Tools denied" }, { path: "name", label: "Name" }] }], fields: [] } as unknown as Definition;
const about = { test: { id: "test", name: "Test it", word: "gate", place: { file: 0, from: 0 } } } as never;
const problem = (message: string, text = "", before = "") => [{ message, node: "test", place: before === "" ? null : { file: 0, from: text.indexOf(before) } } as unknown as Problem, definition, about, [text]] as const;

test("a field is known by its key in the message, and a step by its title", () => {
  assert.deepEqual(faultOf(...problem("`maxRetries` of node `test` must be a number")), { step: { id: "test", name: "Test it" }, field: { path: "maxRetries", label: "Retries" } });
  assert.equal(faultOf(...problem("`deny` is no list")).field?.label, "Tools denied");
  assert.equal(faultOf(...problem("`test` never ends")).field, null);
});

test("else a field is known by where the problem stands", () => {
  assert.equal(faultOf(...problem("too large", 'test: { name: a, maxRetries: 9 }', "9")).field?.label, "Retries");
  assert.equal(faultOf(...problem("too long", 'test: { name: abc, maxRetries: 9 }', "abc")).field?.label, "Name");
  assert.equal(faultOf(...problem("too long", '{ "name": "abc" }', '"abc"')).field?.label, "Name");
});

test("a field that the text calls otherwise than the form shows both names", () => {
  const shown = (path: string, label: string) => isOtherName({ path, label } as Field);
  assert.ok(shown("maxRetries", "Retries"));
  assert.ok(!shown("name", "Name") && !shown("outputSchema", "Output schema"));
});

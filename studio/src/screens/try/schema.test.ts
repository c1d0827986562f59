import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf, inputText, namedFields, readInput, type InputField } from "./schema";

const SCHEMA = {
  type: "object",
  properties: {
    a: { type: "integer", minimum: 0, description: "The first number." },
    b: { type: ["number", "null"], exclusiveMaximum: 10 },
    unit: { enum: ["mm", "cm", 1] },
    exact: { type: "boolean", default: true },
    name: { type: "string", minLength: 2, pattern: "^[a-z]+$" },
    tags: { type: "array", items: { type: "string" } },
    where: { $ref: "#/$defs/place" },
    maybe: { anyOf: [{ type: "string" }, { type: "null" }] },
    either: { oneOf: [{ type: "string" }, { type: "number" }] },
    key: { type: "string", writeOnly: true },
  },
  required: ["a", "exact"],
  $defs: { place: { type: "object", title: "Place" } },
};

const field = (name: string) => fieldsOf(SCHEMA)?.find((entry) => entry.name === name) as InputField;

test("each property is a field of its type", () => {
  const types = Object.fromEntries((fieldsOf(SCHEMA) ?? []).map(({ name, type }) => [name, type]));
  assert.deepEqual(types, { a: "integer", b: "number", unit: "choice", exact: "boolean", name: "text", tags: "json", where: "json", maybe: "text", either: "json", key: "text" });
  assert.equal(field("where").label, "Place");
  assert.equal(field("a").help, "The first number. A whole number, at least 0.");
  assert.ok(field("key").secret && field("a").required);
});

test("what a form cannot say is no form", () => {
  for (const schema of [undefined, null, true, { type: "string" }, { type: "object" }, { properties: {}, oneOf: [] }, { properties: {}, additionalProperties: { type: "string" } }]) assert.equal(fieldsOf(schema), null);
  assert.deepEqual(fieldsOf({ type: "object", properties: {} }), []);
});

test("texts are read as values, or it is said why they are none", () => {
  const read = (name: string, text: string) => readInput(field(name), text);
  assert.deepEqual(read("a", "3"), { value: 3 });
  assert.deepEqual(read("a", ""), { problem: "This is required." });
  assert.deepEqual(read("a", "3.5"), { problem: "This has to be a whole number." });
  assert.deepEqual(read("a", "-1"), { problem: "This has to be at least 0." });
  assert.deepEqual(read("b", "10"), { problem: "This has to be less than 10." });
  assert.deepEqual(read("b", "x"), { problem: "This has to be a number." });
  assert.deepEqual(read("unit", "1"), { value: 1 });
  assert.equal(read("exact", ""), null, "its default serves");
  assert.deepEqual(read("exact", "no"), { value: false });
  assert.deepEqual(read("name", "A1"), { problem: "This has to match ^[a-z]+$" });
  assert.deepEqual(read("name", "a"), { problem: "This needs at least 2 characters." });
  assert.deepEqual(read("tags", "[\"x\"]"), { value: ["x"] });
  assert.deepEqual(read("tags", "{}"), { problem: "This has to be a list, such as [1, 2]." });
  assert.match((read("tags", "[") as { problem: string }).problem, /^This is not JSON yet/);
});

test("values stand in fields as they are read again", () => {
  for (const [name, value] of [["a", 3], ["unit", "cm"], ["exact", false], ["name", "ab"], ["tags", ["x", 1]]] as const) {
    assert.deepEqual(readInput(field(name), inputText(field(name), value)), { value });
  }
  assert.equal(inputText(field("b"), null), "");
});

test("what the server says of a field stands at the field", () => {
  const said = "the input is not valid for `sum`: `/a` must be a whole number, but is `\"x\"`; it has no `exact`; `/tags/0` must be a text; it has no `other`";
  assert.deepEqual(namedFields(said, fieldsOf(SCHEMA) ?? []), { a: "`/a` must be a whole number, but is `\"x\"`", exact: "This is required.", tags: "`/tags/0` must be a text" });
});

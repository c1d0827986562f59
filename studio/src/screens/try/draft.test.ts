import assert from "node:assert/strict";
import { test } from "node:test";
import { draftOf, EMPTY, requestOf, turned, type Shape } from "./draft";
import { fieldsOf } from "./schema";

const fields = fieldsOf({ type: "object", properties: { a: { type: "integer" }, key: { type: "string", writeOnly: true } }, required: ["a"] });
const shape: Shape = { root: null, led: false, fields, asks: ["add", "tell"] };

test("what is sent is what was filled in", () => {
  const draft = { ...EMPTY, texts: { a: "2" }, who: "written" as const, answers: { add: "{\"sum\": 3}", tell: " " }, paused: true, breakpoints: [{ node: "add", when: null }, { node: "tell", when: "a > 1" }] };
  assert.deepEqual(requestOf(draft, { ...shape, root: "sum" }), {
    request: { root: "sum", input: { a: 2 }, paused: true, breakpoints: ["add", { node: "tell", when: "a > 1" }], answers: { add: { sum: 3 } } },
  });
});

test("what is missing is said at its field", () => {
  assert.deepEqual(requestOf({ ...EMPTY, who: "written" }, shape), { problems: { "input.a": "This is required.", answers: "Write at least one answer down." } });
  assert.deepEqual(requestOf({ ...EMPTY, texts: { a: "1" }, who: "recorded" }, shape), { problems: { recorded: "Choose a run." } });
  const broken = requestOf({ ...EMPTY, mode: "json", json: "[]", who: "written", allAnswers: "{" }, { ...shape, asks: null });
  assert.deepEqual(Object.keys((broken as { problems: object }).problems), ["input", "answers"]);
});

test("where nothing is asked, nobody has to answer", () => {
  assert.deepEqual(requestOf({ ...EMPTY, texts: { a: "1" }, who: "written" }, { ...shape, asks: [] }), { request: { input: { a: 1 } } });
});

test("agents are led with a description, and nothing waits", () => {
  assert.deepEqual(requestOf({ ...EMPTY, description: " mend it ", paused: true }, { root: null, led: true, fields: null, asks: [] }), { request: { description: "mend it" } });
});

test("an earlier run fills the form in, without what was hidden", () => {
  const draft = draftOf({ input: { a: 4, key: "[redacted]" }, description: null, run: "abc" }, shape);
  assert.deepEqual([draft.mode, draft.texts, draft.who, draft.recorded], ["form", { a: "4", key: "" }, "recorded", "abc"]);
  assert.equal(draftOf({ input: { other: 1 }, description: null, run: "abc" }, shape).mode, "json");
});

test("the form turns to JSON and back, and keeps what only JSON can say", () => {
  const json = turned({ ...EMPTY, texts: { a: "4", key: "x" } }, fields ?? []);
  assert.deepEqual(JSON.parse(json.json), { a: 4, key: "x" });
  assert.deepEqual(turned(json, fields ?? []).texts, { a: "4", key: "x" });
  assert.equal(turned({ ...json, json: "{\"more\": 1}" }, fields ?? []).mode, "json");
});

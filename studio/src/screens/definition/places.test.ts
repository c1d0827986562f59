import assert from "node:assert/strict";
import { test } from "node:test";
import type { Checked, Definition, Drawing, DrawnEdge, DrawnNode, Kind } from "../../api/types";
import { wayBack } from "./back";
import { edgeAfter, isTarget, nodeAt, placementsOf, placesFor, stepsIn } from "./places";

const definition = { palette: [] } as unknown as Definition;
const shown = {
  about: { a: { name: "Write", editable: true }, b: { name: "Test", editable: true }, inner: { name: "Leaving Test", editable: false } },
  drawing: {
    nodes: [{ id: "a", kind: "task" }, { id: "b", kind: "task" }, { id: "inner", kind: "switch" }],
    edges: [
      { id: "a->b", from: "a", to: "b", on: "passed", kind: "passed" },
      { id: "b->inner", from: "b", to: "inner", on: "failed", kind: "failed" },
    ],
  },
  edges: { "a->b": {}, "b->inner": {} },
} as unknown as Checked;
const labels = (selected: string | null, edge: string | null = null) => placementsOf(definition, shown, selected, edge).map(({ label }) => label);

test("without a selection a step can be added on every edge between steps that are written", () => {
  assert.deepEqual(labels(null), ["Unconnected", "Between “Write” and “Test”, on passed"]);
});

test("with one, the places next to it come first", () => {
  assert.deepEqual(labels("a"), ["Between “Write” and “Test”, on passed", "On another way out of “Write”", "Unconnected"]);
  assert.deepEqual(labels("b"), ["Between “Test” and “Leaving Test”, on failed", "On another way out of “Test”", "Unconnected"]);
  assert.deepEqual(labels(null, "a->b"), ["Between “Write” and “Test”", "Unconnected"]);
});

test("a gate between two steps says that it leads back, and how often", () => {
  const gate = { kind: "gate", fields: [{ path: "maxRetries", default: 3 }] } as unknown as Kind;
  const about = { ...shown.about, a: { ...shown.about.a, word: "task" } } as Checked["about"];
  const [unconnected, between] = placementsOf(definition, { ...shown, about }, null, null);
  assert.ok(unconnected && between);
  assert.equal(wayBack(gate, between), "A failure leads back to “Write”, at most 3 times; both can be changed afterwards.");
  assert.equal(wayBack(gate, unconnected), null);
  assert.equal(wayBack({ ...gate, kind: "task" }, between), null);
});

test("a place without a way to it is offered as what the kind makes of it", () => {
  const of = (unplaced: Kind["unplaced"]) => placesFor({ unplaced } as Kind, placementsOf(definition, shown, null, null)).map(({ label }) => label);
  assert.deepEqual(of("unconnected"), ["Unconnected", "Between “Write” and “Test”, on passed"]);
  assert.deepEqual(of("last"), ["At the end", "Between “Write” and “Test”, on passed"]);
  assert.deepEqual(of("nowhere"), ["Between “Write” and “Test”, on passed"]);
});

test("a place in the source is that of the innermost step whose text it is in", () => {
  const place = (from: number, to: number) => ({ file: 0, line: 1, column: 1, from, to });
  const about = { loop: { place: place(0, 4), extent: place(0, 40) }, step: { place: place(20, 24), extent: place(18, 30) }, derived: { place: null } } as unknown as Checked["about"];
  assert.deepEqual([2, 10, 26, 35, 50].map((offset) => nodeAt(about, 0, offset)), ["loop", "loop", "step", "loop", null]);
  assert.equal(nodeAt(about, 1, 2), null);
});

test("an edge that is led elsewhere, or has another label, is still looked at", () => {
  const edges = [{ id: "a->b", from: "a", to: "b" }, { id: "a->c", from: "a", to: "c" }];
  const after = { edges } as unknown as Drawing;
  const was = (to: string) => ({ id: `a->${to}`, from: "a", to }) as unknown as DrawnEdge;
  assert.equal(edgeAfter({ is: "reconnect", edge: "a->d", to: "c" }, was("d"), after), "a->c");
  assert.equal(edgeAfter({ is: "label", edge: "a->b", text: "yes" }, was("b"), after), "a->b");
  assert.equal(edgeAfter({ is: "disconnect", edge: "a->b" }, was("b"), after), null);
  assert.equal(edgeAfter({ is: "outcome", edge: "a->d", on: "failed" }, was("d"), after), null);
});

test("of a box and the node at its beginning the selected one stays", () => {
  const place = { file: 0, from: 4, to: 9, line: 1, column: 5 };
  const about = { "loop:b": { place }, "a.b": { place }, b: { place: { ...place, from: 20, to: 22 } } } as unknown as Checked["about"];
  assert.equal(nodeAt(about, 0, 5), "loop:b");
  assert.equal(nodeAt(about, 0, 5, "a.b"), "a.b");
  assert.equal(nodeAt(about, 0, 5, "b"), "loop:b");
  assert.equal(nodeAt(about, 0, 21, "a.b"), "b");
});

test("a step is added to an activity as its last or its first, and only an activity after it", () => {
  const about = {
    "activity:a": { id: "a", name: "Draft", word: "activity", editable: true },
    a: { id: "a", name: "Draft", word: "activity", editable: true },
    "a.one": { id: "a.one", name: "One", word: "step", editable: true },
    "a.two": { id: "a.two", name: "Two", word: "step", editable: true },
    "activity:b": { id: "b", name: "Empty", word: "activity", editable: true },
    "activity:c": { id: "c", name: "Folded", word: "activity", editable: true },
  };
  const nodes = [
    { id: "activity:a", parent: null, kind: "activity", x: 0, y: 0 },
    { id: "a", parent: "activity:a", kind: "activity", x: 0, y: 1 },
    { id: "a.one", parent: "activity:a", kind: "task", x: 0, y: 2 },
    { id: "a.two", parent: "activity:a", kind: "task", x: 0, y: 3 },
    { id: "activity:b", parent: null, kind: "activity", x: 0, y: 4 },
    { id: "activity:c", parent: null, kind: "activity", x: 0, y: 5, container: "folded" },
  ];
  const definition = { palette: [{ kind: "step", unplaced: "nowhere" }, { kind: "activity", unplaced: "unconnected" }] } as unknown as Definition;
  const shown = { about, drawing: { nodes, edges: [] }, edges: {} } as unknown as Checked;
  const [step, activity] = definition.palette;
  const of = (kind: Kind | undefined, selected: string) => placesFor(kind, placementsOf(definition, shown, selected, null));
  assert.deepEqual(of(step, "activity:a"), [
    { label: "Last in “Draft”", place: { after: "a.two" }, within: { id: "activity:a", name: "Draft" }, inRow: true },
    { label: "First in “Draft”", place: { after: "activity:a" }, inRow: true },
  ]);
  assert.deepEqual(of(step, "a").map(({ label }) => label), ["First in “Draft”", "Last in “Draft”"]);
  assert.deepEqual(of(step, "activity:b").map(({ label }) => label), ["In “Empty”"]);
  assert.deepEqual(of(step, "activity:c").map(({ label }) => label), ["First in “Folded”"]);
  assert.deepEqual(of(activity, "activity:a").map(({ label }) => label), ["After “Draft”", "Unconnected"]);
});

test("an edge leads to what is written and stands in no row", () => {
  const about = {
    "activity:a": { id: "a", word: "activity", editable: true, place: { file: 0, from: 1 } },
    a: { id: "a", word: "activity", editable: true, place: { file: 0, from: 1 } },
    "a.s": { id: "a.s", word: "step", editable: true, place: { file: 0, from: 9 } },
    "a.each.s": { id: "a.each.s", word: "step", editable: true, place: { file: 0, from: 9 } },
    "a.s.when": { id: "a.s.when", word: null, editable: false },
    done: { id: "done", word: null, editable: false },
  };
  const nodes = [
    { id: "activity:a", parent: null, kind: "activity" },
    { id: "a", parent: "activity:a", kind: "activity" },
    { id: "a.s", parent: "activity:a", kind: "task" },
    { id: "a.s.when", parent: "activity:a", kind: "switch" },
    { id: "done", parent: null, kind: "end" },
  ] as unknown as DrawnNode[];
  const definition = { palette: [{ kind: "step", unplaced: "nowhere" }, { kind: "activity", unplaced: "unconnected" }] } as unknown as Definition;
  const shown = { about } as unknown as Checked;
  assert.deepEqual(
    nodes.filter((node) => isTarget(definition, shown, node)).map((node) => node.id),
    ["activity:a", "done"],
  );
  assert.equal(stepsIn(shown), 1);
});

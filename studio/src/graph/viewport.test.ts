import assert from "node:assert/strict";
import { test } from "node:test";
import type { DrawnNode, Drawing } from "../api/types";
import { indexDrawing } from "./model";
import { isWhole, opening } from "./viewport";

/** Steps one below the other, as the server places them. */
function chain(steps: number) {
  const nodes = Array.from({ length: steps }, (_, i) => ({ id: `s${i}`, parent: null, kind: i === 0 ? "start" : "task", name: `s${i}`, x: 20, y: 20 + i * 92, width: 180, height: 52, container: null }) as unknown as DrawnNode);
  return indexDrawing({ form: "drawing/1", width: 220, height: 40 + steps * 92, nodes, edges: [] } as unknown as Drawing);
}

const pane = { width: 800, height: 640 };

test("a drawing that fits is shown whole, no larger than it is", () => {
  assert.equal(opening(chain(3), pane, null).zoom, 1);
  assert.ok(isWhole(chain(3), { ...pane, ...opening(chain(3), pane, null) }));
});

test("a drawing that fits with names that can be read is shown whole", () => {
  const view = opening(chain(8), pane, null);
  assert.ok(view.zoom >= 0.72 && view.zoom < 1, String(view.zoom));
  assert.ok(isWhole(chain(8), { ...pane, ...view }));
});

test("a longer one begins at its start, or at the step where the run is, with names that can be read", () => {
  const graph = chain(11);
  const start = opening(graph, pane, null);
  assert.ok(start.zoom >= 0.72, String(start.zoom));
  assert.ok(start.y >= 0);
  const end = opening(graph, pane, "s10");
  const last = graph.nodes.get("s10") as DrawnNode;
  assert.ok((last.y + last.height) * end.zoom + end.y <= pane.height);
  assert.ok(!isWhole(graph, { ...pane, ...start }));
});

test("beside the overview a drawing that is not whole begins right of it", () => {
  assert.equal(opening(chain(40), pane, null).x, (800 - 220 * 0.8) / 2);
  assert.equal(opening(chain(40), pane, null, undefined, 72).x, 72 + (800 - 72 - 220 * 0.8) / 2);
  const wide = { ...chain(40).drawing, width: 2_000 };
  assert.equal(opening(indexDrawing(wide), pane, null, undefined, 72).x, 72);
});

test("one that is too high is shown in its whole width, if names can be read with that", () => {
  const wide = indexDrawing({ ...chain(40).drawing, width: 1_000 });
  const view = opening(wide, pane, null);
  assert.equal(view.zoom, 0.736);
  assert.ok(view.x >= 0 && view.x + 1_000 * view.zoom <= pane.width);
});

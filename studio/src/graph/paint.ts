import type { DrawnEdge, NodeState, Overlay } from "../api/types";
import type { Graph } from "./model";
import { shapePath, type Box } from "./shapes";
import type { Stops } from "./state";

export interface Palette {
  line: string;
  edge: string;
  fill: string;
  container: string;
  text: string;
  accent: string;
  states: Record<NodeState, string>;
}

export function readPalette(element: Element): Palette {
  // A variable keeps `light-dark(…)` unresolved, and a canvas cannot read that; a property resolves it.
  const probe = element.ownerDocument.createElement("span");
  element.after(probe);
  const value = (name: string) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const states = Object.fromEntries(
    ["done", "here", "checking", "waiting", "failed", "skipped", "cancelled"].map((state) => [state, value(`--${state}`)]),
  ) as Record<NodeState, string>;
  const palette = {
    line: value("--node-line"),
    edge: value("--edge"),
    fill: value("--node"),
    container: value("--container"),
    text: value("--text"),
    accent: value("--accent"),
    states,
  };
  probe.remove();
  return palette;
}

export interface Scene {
  graph: Graph;
  overlay: Overlay | null;
  selected: string | null;
  edge: string | null;
  stops: Stops;
  palette: Palette;
}

export interface View {
  x: number;
  y: number;
  zoom: number;
  width: number;
  height: number;
}

const outlines = new WeakMap<object, Path2D>();

/**
 * Draws everything plainly: at a small scale a thousand elements of HTML cost more per frame
 * than they show.
 */
export function paint(context: CanvasRenderingContext2D, scene: Scene, view: View, ratio: number): void {
  const { graph, overlay, palette } = scene;
  const seen: Box = {
    x: -view.x / view.zoom,
    y: -view.y / view.zoom,
    width: view.width / view.zoom,
    height: view.height / view.zoom,
  };
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  context.setTransform(view.zoom * ratio, 0, 0, view.zoom * ratio, view.x * ratio, view.y * ratio);
  const hair = 1 / view.zoom;

  const inside = (node: Box) =>
    node.x <= seen.x + seen.width && seen.x <= node.x + node.width && node.y <= seen.y + seen.height && seen.y <= node.y + node.height;

  context.lineWidth = hair;
  for (const node of graph.ordered) {
    if (node.container !== "open" || !inside(node)) continue;
    context.fillStyle = palette.container;
    context.strokeStyle = palette.line;
    context.fillRect(node.x, node.y, node.width, node.height);
    context.strokeRect(node.x, node.y, node.width, node.height);
  }

  context.strokeStyle = palette.edge;
  context.lineWidth = Math.max(hair, 1.2);
  strokeEdges(context, graph.drawing.edges);
  const chosen = scene.edge === null ? [] : graph.drawing.edges.filter((edge) => edge.id === scene.edge);
  context.strokeStyle = palette.accent;
  context.lineWidth = Math.max(3 * hair, 2);
  strokeEdges(context, chosen);

  context.lineWidth = hair;
  for (const node of graph.ordered) {
    if (node.container === "open" || !inside(node)) continue;
    const state = overlay?.nodes[node.id]?.state;
    let outline = outlines.get(node);
    if (!outline) outlines.set(node, (outline = new Path2D(shapePath(node))));
    context.translate(node.x, node.y);
    context.fillStyle = state ? palette.states[state] : node.kind === "fork" || node.kind === "join" ? palette.edge : palette.fill;
    context.globalAlpha = state === "skipped" || state === "cancelled" ? 0.45 : 1;
    context.fill(outline);
    context.globalAlpha = 1;
    context.strokeStyle = state ? palette.states[state] : palette.line;
    context.stroke(outline);
    context.translate(-node.x, -node.y);
  }
  names(context, scene, view, inside);
  stopMarks(context, scene, hair);
  const selected = scene.selected === null ? undefined : graph.nodes.get(scene.selected);
  if (selected) {
    context.strokeStyle = palette.accent;
    context.lineWidth = 3 * hair;
    context.strokeRect(selected.x - 3 * hair, selected.y - 3 * hair, selected.width + 6 * hair, selected.height + 6 * hair);
  }
}

function strokeEdges(context: CanvasRenderingContext2D, edges: DrawnEdge[]): void {
  context.beginPath();
  for (const edge of edges) {
    const [first, ...rest] = edge.points;
    if (!first) continue;
    context.moveTo(first[0], first[1]);
    for (const [x, y] of rest) context.lineTo(x, y);
  }
  context.stroke();
}

/** A frame of two lines around the node that the run waits before, and a square at each breakpoint. */
function stopMarks(context: CanvasRenderingContext2D, { graph, stops, palette }: Scene, hair: number): void {
  const before = stops.before === null ? undefined : graph.nodes.get(stops.before);
  context.strokeStyle = palette.states.waiting;
  context.lineWidth = 2 * hair;
  for (const gap of before ? [4, 8] : []) {
    if (before) context.strokeRect(before.x - gap * hair, before.y - gap * hair, before.width + 2 * gap * hair, before.height + 2 * gap * hair);
  }
  context.fillStyle = palette.states.failed;
  for (const id of Object.keys(stops.breaks)) {
    const node = graph.nodes.get(id);
    if (node) context.fillRect(node.x + node.width - 4 * hair, node.y + node.height - 4 * hair, 8 * hair, 8 * hair);
  }
}

/** Names stay legible at every scale: containers always carry theirs, nodes as soon as it fits. */
function names(context: CanvasRenderingContext2D, { graph, overlay, palette }: Scene, view: View, inside: (box: Box) => boolean): void {
  if (view.zoom < 0.08) return;
  const size = 11 / view.zoom;
  context.font = `500 ${size}px system-ui, sans-serif`;
  context.textBaseline = "middle";
  for (const node of graph.ordered) {
    const open = node.container === "open";
    const room = node.width - size;
    if (!inside(node) || room < size * 4 || (!open && size > node.height * 0.8)) continue;
    const letters = Math.floor(room / (size * 0.56));
    const name = node.name.length > letters ? `${node.name.slice(0, Math.max(1, letters - 1))}…` : node.name;
    const solid = overlay?.nodes[node.id] && !open;
    context.fillStyle = solid ? palette.fill : palette.text;
    context.fillText(name, node.x + size / 2, open ? node.y + size : node.y + node.height / 2);
  }
}

import type { DrawnNode, Point } from "../api/types";

const n = (value: number) => Math.round(value * 100) / 100;

/** The outline of a node of this kind, from 0,0; `inset` makes the inner one of a double border. */
export function shapePath(node: DrawnNode, inset = 0): string {
  const x = inset;
  const y = inset;
  const w = node.width - 2 * inset;
  const h = node.height - 2 * inset;
  switch (node.container === "open" ? "container" : node.kind) {
    case "start":
    case "end":
      return rounded(x, y, w, h, h / 2);
    case "checkpoint":
      return cut(x, y, w, h, Math.min(14, h / 3.2));
    case "gate":
    case "switch":
      return pointed(x, y, w, h, Math.min(14, h / 3));
    case "fork":
    case "join":
      return bar(node, inset);
    case "transform":
      return slanted(x, y, w, h, 10);
    case "container":
      return rounded(x, y, w, h, 12);
    default:
      return rounded(x, y, w, h, 8);
  }
}

function rounded(x: number, y: number, w: number, h: number, radius: number): string {
  const r = Math.max(0, Math.min(radius, w / 2, h / 2));
  return `M${n(x + r)} ${n(y)}h${n(w - 2 * r)}a${n(r)} ${n(r)} 0 0 1 ${n(r)} ${n(r)}v${n(h - 2 * r)}a${n(r)} ${n(r)} 0 0 1 ${n(-r)} ${n(r)}h${n(2 * r - w)}a${n(r)} ${n(r)} 0 0 1 ${n(-r)} ${n(-r)}v${n(2 * r - h)}a${n(r)} ${n(r)} 0 0 1 ${n(r)} ${n(-r)}z`;
}

const cut = (x: number, y: number, w: number, h: number, c: number) =>
  `M${n(x + c)} ${n(y)}H${n(x + w - c)}L${n(x + w)} ${n(y + c)}V${n(y + h - c)}L${n(x + w - c)} ${n(y + h)}H${n(x + c)}L${n(x)} ${n(y + h - c)}V${n(y + c)}z`;

const pointed = (x: number, y: number, w: number, h: number, c: number) =>
  `M${n(x + c)} ${n(y)}H${n(x + w - c)}L${n(x + w)} ${n(y + h / 2)}L${n(x + w - c)} ${n(y + h)}H${n(x + c)}L${n(x)} ${n(y + h / 2)}z`;

const slanted = (x: number, y: number, w: number, h: number, c: number) =>
  `M${n(x + c)} ${n(y)}H${n(x + w)}L${n(x + w - c)} ${n(y + h)}H${n(x)}z`;

/** A bar is thin however much room the layout leaves: its name stands below or beside it. */
export const BAR = 12;

function bar(node: DrawnNode, inset: number): string {
  return rounded(inset, inset / 2, node.width - 2 * inset, Math.min(BAR, node.height) - inset, 4);
}

/** A polyline with rounded corners. */
export function edgePath(points: Point[], radius = 8): string {
  const [first, ...rest] = points;
  if (!first) return "";
  let path = `M${n(first[0])} ${n(first[1])}`;
  rest.forEach((point, i) => {
    const before = points[i] as Point;
    const after = rest[i + 1];
    if (!after) {
      path += `L${n(point[0])} ${n(point[1])}`;
      return;
    }
    const r = Math.min(radius, length(before, point) / 2, length(point, after) / 2);
    const from = towards(point, before, r);
    const to = towards(point, after, r);
    path += `L${n(from[0])} ${n(from[1])}Q${n(point[0])} ${n(point[1])} ${n(to[0])} ${n(to[1])}`;
  });
  return path;
}

const length = (a: Point, b: Point) => Math.hypot(a[0] - b[0], a[1] - b[1]);

function towards(from: Point, to: Point, distance: number): Point {
  const whole = length(from, to) || 1;
  return [from[0] + ((to[0] - from[0]) * distance) / whole, from[1] + ((to[1] - from[1]) * distance) / whole];
}

/** The point at half the length of the line: where a label goes when the layout names no place. */
export function middle(points: Point[]): Point {
  let whole = 0;
  for (let i = 1; i < points.length; i++) whole += length(points[i - 1] as Point, points[i] as Point);
  let left = whole / 2;
  for (let i = 1; i < points.length; i++) {
    const a = points[i - 1] as Point;
    const b = points[i] as Point;
    const step = length(a, b);
    if (left <= step) return towards(a, b, left);
    left -= step;
  }
  return points[0] ?? [0, 0];
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export function boxOf(points: Point[]): Box {
  let [x, y, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [px, py] of points) {
    x = Math.min(x, px);
    y = Math.min(y, py);
    right = Math.max(right, px);
    bottom = Math.max(bottom, py);
  }
  return { x, y, width: right - x, height: bottom - y };
}

export const meets = (a: Box, b: Box) =>
  a.x <= b.x + b.width && b.x <= a.x + a.width && a.y <= b.y + b.height && b.y <= a.y + a.height;

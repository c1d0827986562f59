import type { DrawnNode } from "../api/types";
import { firstNode } from "./walk";
import type { Graph } from "./model";

interface Size {
  width: number;
  height: number;
}

interface Viewport {
  x: number;
  y: number;
  zoom: number;
}

const MARGIN = 40;
/** The smallest scale at which names are read with ease; a drawing that does not fit the pane begins at its start with it. */
const LEGIBLE = 0.8;
/** The smallest scale at which names can be read at all: a drawing that fits with it is shown whole. */
const READABLE = 0.72;
/** The smallest scale at which a step that was chosen elsewhere is shown. */
const RECOGNIZABLE = 0.5;

/** `left`: what the overview takes up where the drawing is not whole. */
export function opening(graph: Graph, view: Size, focus: string | null, least = LEGIBLE, left = 0): Viewport {
  const { width, height } = graph.drawing;
  const margin = Math.min(MARGIN, view.width / 20, view.height / 20);
  const fitting = Math.min((view.width - 2 * margin) / width, (view.height - 2 * margin) / height);
  // What does not fit is at least shown in its whole width, where names can be read with that.
  const wide = Math.max(READABLE, (view.width - left - 2 * margin) / width);
  const zoom = Math.max(fitting >= READABLE ? READABLE : Math.min(least, wide), Math.min(1, fitting));
  if (fitting >= zoom) return { x: (view.width - width * zoom) / 2, y: (view.height - height * zoom) / 2, zoom };
  const node = graph.nodes.get(focus ?? firstNode(graph) ?? "");
  if (!node) return { x: Math.max(MARGIN, left), y: MARGIN, zoom };
  const { x, y } = center(node.x + node.width / 2, node.y + node.height / 2, { ...view, zoom });
  // Not beyond the drawing's edge: emptiness there says nothing.
  return {
    x: within(x, width * zoom, view.width, left),
    y: within(y, height * zoom, view.height),
    zoom,
  };
}

function within(offset: number, size: number, room: number, taken = 0): number {
  if (size + 2 * MARGIN <= room - taken) return taken + (room - taken - size) / 2;
  return Math.min(Math.max(MARGIN, taken), Math.max(room - size - MARGIN, offset));
}

/** Whether the whole drawing is in the window. */
export function isWhole(graph: Graph, view: Viewport & Size): boolean {
  const { width, height } = graph.drawing;
  return view.x >= 0 && view.y >= 0 && view.x + width * view.zoom <= view.width && view.y + height * view.zoom <= view.height;
}

export function center(x: number, y: number, view: Size & { zoom: number }): Viewport {
  return { x: view.width / 2 - x * view.zoom, y: view.height / 2 - y * view.zoom, zoom: view.zoom };
}

export function isVisible(node: DrawnNode, view: Viewport & Size): boolean {
  const left = node.x * view.zoom + view.x;
  const top = node.y * view.zoom + view.y;
  // Of a large container the head is enough.
  const right = left + Math.min(node.width * view.zoom, view.width * 0.6);
  const bottom = top + Math.min(node.height * view.zoom, view.height * 0.6);
  const edge = 16;
  return left >= edge && top >= edge && right <= view.width - edge && bottom <= view.height - edge;
}

/** Moves no further than needed to bring the node in, with room around it. */
export function reveal(node: DrawnNode, view: Viewport & Size): Viewport {
  const zoom = Math.max(view.zoom, RECOGNIZABLE);
  if (zoom !== view.zoom) return center(node.x + node.width / 2, node.y + node.height / 2, { ...view, zoom });
  const room = 72;
  const shift = (from: number, size: number, whole: number) => {
    const span = Math.min(size, whole * 0.6);
    if (from < room) return room - from;
    if (from + span > whole - room) return whole - room - span - from;
    return 0;
  };
  return {
    x: view.x + shift(node.x * zoom + view.x, node.width * zoom, view.width),
    y: view.y + shift(node.y * zoom + view.y, node.height * zoom, view.height),
    zoom,
  };
}

import type { DrawnNode } from "../api/types";
import type { Graph } from "./model";

interface View {
  x: number;
  y: number;
  zoom: number;
  width: number;
  height: number;
}

/**
 * The node that stays where it is on screen when the drawing changes: the one that was folded, else
 * the selected one, also under a new name, else the one nearest to the middle of the window.
 */
export function anchorOf(before: Graph, after: Graph, wanted: (string | null)[], selected: { before: string | null; after: string | null }, view: View): { dx: number; dy: number } | null {
  const pair = (a: string | null, b: string | null) => {
    const from = a === null ? undefined : before.nodes.get(a);
    const to = b === null ? undefined : after.nodes.get(b);
    return from && to && isUnmoved(from, to) ? { dx: to.x - from.x, dy: to.y - from.y } : null;
  };
  for (const id of wanted) {
    const found = pair(id, id);
    if (found) return found;
  }
  const same = pair(selected.before, selected.before);
  if (same) return same;
  const renamed = selected.before !== null && selected.after !== null && !after.nodes.has(selected.before) && !before.nodes.has(selected.after);
  if (renamed) return pair(selected.before, selected.after);
  const middle = { x: (view.width / 2 - view.x) / view.zoom, y: (view.height / 2 - view.y) / view.zoom };
  let best: string | null = null;
  let least = Infinity;
  for (const node of before.ordered) {
    const now = after.nodes.get(node.id);
    if (node.container === "open" || !now || !isUnmoved(node, now)) continue;
    const distance = Math.hypot(node.x + node.width / 2 - middle.x, node.y + node.height / 2 - middle.y);
    if (distance < least) [best, least] = [node.id, distance];
  }
  return pair(best, best);
}

/** Whether nobody has moved a node by hand from one drawing to the next. */
const isUnmoved = (before: DrawnNode, after: DrawnNode) => before.moved?.[0] === after.moved?.[0] && before.moved?.[1] === after.moved?.[1];

const MOST_MOVING = 200;

/** Nodes glide to their new places. The window moved at once, so what is anchored stands still. */
export function glide(host: Element, before: Graph, after: Graph, shift: { dx: number; dy: number }): void {
  const elements = [...host.querySelectorAll<HTMLElement>(".react-flow__node")];
  if (elements.length > MOST_MOVING) return;
  for (const element of elements) {
    const id = element.dataset.id ?? "";
    const [from, to] = [before.nodes.get(id), after.nodes.get(id)];
    if (!to) continue;
    const x = from ? from.x - to.x + shift.dx : 0;
    const y = from ? from.y - to.y + shift.dy : 0;
    if (!from) element.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 160 });
    else if (Math.abs(x) + Math.abs(y) > 0.5) element.animate([{ translate: `${x}px ${y}px` }, { translate: "0 0" }], { duration: 160, easing: "ease-out" });
  }
  host.querySelector(".edges")?.animate([{ opacity: 0.2 }, { opacity: 1 }], { duration: 160 });
}

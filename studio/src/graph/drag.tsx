import { ViewportPortal, useReactFlow } from "@xyflow/react";
import { useEffect, useRef, useState } from "react";
import type { Store } from "../parts/store";
import type { Graph } from "./model";
import type { GraphState } from "./state";
import { hit } from "./hit";

interface Drag {
  pointer: number;
  from: string;
  edge: string | null;
  start: { x: number; y: number };
  at: { x: number; y: number };
}

export interface Connections {
  onConnect: (from: string, to: string) => void;
  onReconnect: (edge: string, to: string) => void;
}

/** Draws a line by hand, from a node's handle or the end of an edge to wherever it is let go. */
export function useDrag(graph: Graph, state: Store<GraphState>, connections: Connections | null) {
  const flow = useReactFlow();
  const [drag, setDrag] = useState<Drag | null>(null);
  const latest = useRef({ graph, connections });
  latest.current = { graph, connections };

  const begin = useRef((event: React.PointerEvent, from: string, edge: string | null) => {
    if (event.button !== 0) return;
    event.preventDefault();
    event.stopPropagation();
    const node = latest.current.graph.nodes.get(from);
    const at = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
    setDrag({ pointer: event.pointerId, from, edge, start: node ? { x: node.x + node.width / 2, y: node.y + node.height } : at, at });
  }).current;

  const active = drag?.pointer ?? null;
  useEffect(() => {
    if (active === null || !drag) return;
    const { from, edge } = drag;
    const targetAt = (event: PointerEvent) => {
      const at = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
      return { at, node: hit(latest.current.graph, at) };
    };
    const note = (to: string | null) => state.update((now) => ({ ...now, line: { from, edge, to } }));
    const end = () => {
      setDrag(null);
      state.update((now) => ({ ...now, line: null }));
    };
    const move = (event: PointerEvent) => {
      const { at, node } = targetAt(event);
      setDrag((now) => now && { ...now, at });
      note(node?.id ?? null);
    };
    const drop = (event: PointerEvent) => {
      const { node } = targetAt(event);
      end();
      if (!node) return;
      if (edge === null) latest.current.connections?.onConnect(from, node.id);
      else latest.current.connections?.onReconnect(edge, node.id);
    };
    const key = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      end();
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", drop);
    addEventListener("pointercancel", end);
    addEventListener("keydown", key, true);
    return () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", drop);
      removeEventListener("pointercancel", end);
      removeEventListener("keydown", key, true);
    };
  }, [active]);

  const line = drag && (
    <ViewportPortal>
      <svg className="edges dragged" aria-hidden="true">
        <path d={`M${drag.start.x} ${drag.start.y}L${drag.at.x} ${drag.at.y}`} />
      </svg>
    </ViewportPortal>
  );
  return { begin: connections ? begin : null, line };
}

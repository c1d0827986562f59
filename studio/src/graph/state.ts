import { createContext, useContext } from "react";
import type { Overlay } from "../api/types";
import { Store, useSelected } from "../parts/store";

/** What changes often on a drawing that stays: kept apart, so that only the nodes concerned render again. */
export interface GraphState {
  selected: string | null;
  edge: string | null;
  overlay: Overlay | null;
  /** Nodes with problems, and how bad the worst of them is. */
  marks: Record<string, "error" | "warning">;
  line: Line | null;
  stops: Stops;
}

/** Where a run that is driven waits, and where it is to wait. */
export interface Stops {
  /** The node that it waits before. */
  before: string | null;
  /** Breakpoints by node: in each case, or under a condition. */
  breaks: Record<string, "always" | "when">;
}

export const NO_STOPS: Stops = { before: null, breaks: {} };

/** A line that is being drawn by hand: from a node, or from the end of an edge. */
export interface Line {
  from: string;
  edge: string | null;
  to: string | null;
}

export interface GraphActions {
  select(id: string | null): void;
  selectEdge(id: string): void;
  /** Begins to draw a line; without it nothing can be connected. */
  drag: ((event: React.PointerEvent, from: string, edge: string | null) => void) | null;
  /** Sets a breakpoint, or removes it; without it there are none. */
  stop: ((id: string) => void) | null;
  open(id: string): void;
  fold(id: string): void;
}

export const GraphContext = createContext<{ state: Store<GraphState>; actions: GraphActions } | null>(null);

export function useGraph() {
  const context = useContext(GraphContext);
  if (!context) throw new Error("outside of a graph");
  return context;
}

export function useGraphState<S>(select: (state: GraphState) => S): S {
  return useSelected(useGraph().state, select);
}

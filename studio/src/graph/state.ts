import { createContext, useContext } from "react";
import type { Overlay } from "../api/types";
import { Store, useSelected } from "../parts/store";

/** What changes often on a drawing that stays: kept apart, so that only the nodes concerned render again. */
export interface GraphState {
  selected: string | null;
  overlay: Overlay | null;
  /** Nodes with problems, and how bad the worst of them is. */
  marks: Record<string, "error" | "warning">;
}

export interface GraphActions {
  select(id: string | null): void;
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

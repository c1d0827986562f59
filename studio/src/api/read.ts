import type { Moment, NodeOverlay, Overlay } from "./types";

type Raw = Omit<NodeOverlay, "worst" | "budget" | "arrived"> & {
  worst?: NodeOverlay["worst"];
  budget?: number | null;
  arrived?: string | { done: number; of: number };
};

/** Fills in what the server leaves out where there is nothing to say. */
export function readOverlay(overlay: { nodes: Record<string, Raw>; edges: Overlay["edges"] }): Overlay {
  const nodes: Overlay["nodes"] = {};
  for (const [id, node] of Object.entries(overlay.nodes)) {
    const { arrived } = node;
    nodes[id] = {
      ...node,
      worst: node.worst ?? null,
      budget: node.budget ?? null,
      arrived: typeof arrived === "object" ? `${arrived.done}/${arrived.of}` : arrived,
    };
  }
  return { nodes, edges: overlay.edges };
}

export function readMoment(moment: Moment): Moment {
  return { ...moment, overlay: readOverlay(moment.overlay), values: moment.values ?? [] };
}

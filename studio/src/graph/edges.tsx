import { ViewportPortal, useStore } from "@xyflow/react";
import { memo, useMemo } from "react";
import type { DrawnEdge, Point } from "../api/types";
import { labelPlaces, LONGEST } from "./labels";
import type { Graph } from "./model";
import { shiftedEdge } from "./move";
import { boxOf, edgePath, meets, middle, type Box } from "./shapes";
import { useGraph, useGraphState } from "./state";

/** How far beyond the window edges are drawn, and how far it may move before they are chosen again. */
const CELL = 600;

export function Edges({ graph, shift }: { graph: Graph; shift: Parameters<typeof shiftedEdge>[1] }) {
  const near = useStore(visibleCells);
  const boxes = useMemo(() => new Map(graph.drawing.edges.map((edge) => [edge.id, boxOf(edge.points)])), [graph]);
  const counts = useGraphState((state) => state.overlay?.edges);
  const selected = useGraphState((state) => state.selected);
  const chosen = useGraphState((state) => state.edge);
  const { actions } = useGraph();
  const places = useMemo(() => labelPlaces(graph), [graph]);
  const taken = useMemo(() => new Map(counts?.map((edge) => [`${edge.from}\n${edge.to}`, edge.count])), [counts]);

  const shown = useMemo(() => {
    const [x = 0, y = 0, right = 0, bottom = 0] = near.split(" ").map(Number);
    const window: Box = { x, y, width: right - x, height: bottom - y };
    return graph.drawing.edges.filter((edge) => meets(boxes.get(edge.id) as Box, window)).map((edge) => shiftedEdge(edge, shift));
  }, [graph, boxes, near, shift]);

  return (
    <ViewportPortal>
      <svg className="edges" aria-hidden="true">
        <defs>
          {["plain", "taken", "failed", "lit"].map((look) => (
            <marker key={look} id={`tip-${look}`} className={`tip ${look}`} viewBox="0 0 10 10" refX="8.5" refY="5" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto">
              <path d="M1 1.5 9 5 1 8.5 2.6 5z" />
            </marker>
          ))}
        </defs>
        {shown.map((edge) => (
          <Edge
            key={edge.id}
            edge={edge}
            label={places.get(edge.id) ?? null}
            watched={counts !== undefined}
            count={taken.get(`${edge.from}\n${edge.to}`) ?? 0}
            lit={chosen === null ? selected === edge.from || selected === edge.to : chosen === edge.id}
            onSelect={actions.drag ? actions.selectEdge : null}
          />
        ))}
      </svg>
      {shown.map((edge) => edge.id === chosen && <Grip key={edge.id} edge={edge} />)}
    </ViewportPortal>
  );
}

const Edge = memo(function Edge({ edge, label: place, count, watched, lit, onSelect }: { edge: DrawnEdge; label: Point | null; count: number; watched: boolean; lit: boolean; onSelect: ((id: string) => void) | null }) {
  const path = useMemo(() => edgePath(edge.points), [edge]);
  const at = place ?? edge.labelAt ?? middle(edge.points);
  const look = lit ? "lit" : edge.kind === "failed" ? "failed" : count > 0 ? "taken" : "plain";
  const label = [edge.text, count > 1 ? `×${count}` : null].filter(Boolean).join("  ");
  return (
    <g data-edge={edge.id}>
      <g className={`edge ${edge.kind} ${look}${edge.implied ? " implied" : ""}${watched ? (count > 0 ? " was-taken" : " untaken") : ""}`}>
        <path d={path} markerEnd={`url(#tip-${look})`} />
        {label && (
          <text x={at[0]} y={at[1]} textAnchor="middle" dominantBaseline="central">
            {shorten(label)}
          </text>
        )}
      </g>
      {/* Beside the edge: the widths and colours of its looks would hold for this path, too. */}
      {onSelect && <path className="edge-hit" d={path} onClick={() => onSelect(edge.id)} />}
    </g>
  );
});

/** The end of the selected edge, to be led elsewhere. */
function Grip({ edge }: { edge: DrawnEdge }) {
  const { actions } = useGraph();
  const [x, y] = edge.points.at(-1) ?? [0, 0];
  if (!actions.drag) return null;
  // Above the nodes: an edge ends at the border of one.
  return (
    <svg className="edges grips" aria-hidden="true">
      <circle className="grip nopan" cx={x} cy={y} r={6} onPointerDown={(event) => actions.drag?.(event, edge.from, edge.id)} />
    </svg>
  );
}

const shorten = (text: string) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);

/** The part of the drawing in the window, in coarse steps, so that panning rarely renders. */
function visibleCells({ transform: [x, y, zoom], width, height }: { transform: [number, number, number]; width: number; height: number }): string {
  const cell = CELL / zoom;
  const left = Math.floor(-x / zoom / cell) * cell;
  const top = Math.floor(-y / zoom / cell) * cell;
  const right = Math.ceil((width - x) / zoom / cell) * cell;
  const bottom = Math.ceil((height - y) / zoom / cell) * cell;
  return `${Math.round(left)} ${Math.round(top)} ${Math.round(right)} ${Math.round(bottom)}`;
}

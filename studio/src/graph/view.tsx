import { ReactFlow, ReactFlowProvider, useReactFlow, useStore as useFlow, useStoreApi, type Node } from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import { useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { Drawing, DrawnNode, Overlay } from "../api/types";
import { Icon } from "../parts/icons";
import { kindWord, plural, stateWord, verifiedBy } from "../parts/words";
import { useNarrow } from "../parts/narrow";
import { Store } from "../parts/store";
import { anchorOf, glide } from "./anchor";
import { FarCanvas, Overview, overviewRoom } from "./canvas";
import { useDrag, type Connections } from "./drag";
import { Edges } from "./edges";
import { hit, hitEdge } from "./hit";
import { hasLegend, Legend } from "./legend";
import { indexDrawing, targetOf, type Graph } from "./model";
import { shiftedNodes, useMove, type OnMove } from "./move";
import { NodeView } from "./node";
import { GraphContext, NO_STOPS, type GraphState, type Stops } from "./state";
import { center, isVisible, isWhole, opening, reveal } from "./viewport";
import { walk, type Direction } from "./walk";

/** Below this scale nodes are painted plainly. */
const FAR = 0.42;
/** How far from a painted edge a click may be, on the screen. */
const NEAR_EDGE = 9;
/** With more nodes than these there is an overview. */
const MANY = 40;
const LEAST = 0.02;
const MOST = 2.5;
const NODE_TYPES = { drawn: NodeView };
const NO_NODES: Node[] = [];

export interface GraphProps {
  label: string;
  drawing: Drawing;
  selected: string | null;
  overlay?: Overlay | null;
  marks?: Record<string, "error" | "warning">;
  /** The node to keep in the window while a live run moves on. */
  follow?: string | null;
  onSelect: (id: string | null) => void;
  onOpen: (id: string) => void;
  onFold: (node: DrawnNode) => void;
  /** The selected edge, and what can be connected by hand; without it the drawing only shows. */
  edge?: string | null;
  editing?: (Connections & { onEdge: (id: string) => void }) | null;
  stops?: Stops;
  /** Sets a breakpoint at a node, or removes it. */
  onStop?: ((id: string) => void) | null;
  /** Opens a menu of what can be done at a node, at a place of the window. */
  onMenu?: ((id: string, at: { x: number; y: number }) => void) | null;
  /** Without it, nothing is moved by hand. */
  onMove?: OnMove | null;
  onLayOutAgain?: () => void;
}

export function GraphView(props: GraphProps) {
  return (
    <ReactFlowProvider>
      <Inner {...props} />
    </ReactFlowProvider>
  );
}

const KEYS: Record<string, Direction> = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };

function Inner({ label, drawing, selected, overlay = null, marks, follow, onSelect, onOpen, onFold, edge = null, editing = null, stops = NO_STOPS, onStop = null, onMenu = null, onMove = null, onLayOutAgain }: GraphProps) {
  const graph = useMemo(() => indexDrawing(drawing), [drawing]);
  // Of what is selected, one thing is marked: while it is an edge, the step only says where the arrow keys walk from.
  const marked = edge === null ? selected : null;
  const [state] = useState(() => new Store<GraphState>({ selected: marked, edge, overlay, marks: marks ?? {}, line: null, stops }));
  const flow = useReactFlow();
  const flowStore = useStoreApi();
  const far = useFlow((s) => s.transform[2] < FAR);
  const ready = useFlow((s) => s.width > 0 && s.height > 0);
  const scarce = drawing.nodes.length > MANY;
  const whole = useFlow(({ transform: [x, y, zoom], width, height }) => isWhole(graph, { x, y, zoom, width, height }));
  const width = useFlow((s) => s.width);
  const height = useFlow((s) => s.height);
  const sized = useRef({ width: 0, height: 0 });
  /** Whether somebody has panned or zoomed. */
  const moved = useRef(false);
  const narrow = useNarrow();
  const legend = useMemo(() => hasLegend(graph), [graph]);
  const open = (view: { width: number; height: number }) => opening(graph, view, selected ?? follow ?? null, undefined, scarce ? overviewRoom(graph) : 0);
  const came = useRef<string | null>(null);
  const calm = useRef(matchMedia("(prefers-reduced-motion: reduce)").matches);
  const zoomBy = (zoom: typeof flow.zoomIn) => {
    moved.current = true;
    void zoom(step());
  };
  const step = () => ({ duration: calm.current ? 0 : 120 });
  const help = useId();

  useEffect(() => state.update(({ line }) => ({ selected: marked, edge, overlay, marks: marks ?? {}, line, stops })), [state, marked, edge, overlay, marks, stops]);
  const { begin, line } = useDrag(graph, state, editing);
  const { shift, landed, drag, drop, nudge } = useMove(graph, onMove);

  const look = useCallback(() => {
    const { transform, width, height } = flowStore.getState();
    return { x: transform[0], y: transform[1], zoom: transform[2], width, height };
  }, [flowStore]);

  const move = useCallback(
    (to: { x: number; y: number; zoom: number }, duration = 160) => void flow.setViewport(to, { duration: calm.current ? 0 : duration }),
    [flow],
  );

  const act = useRef({ onSelect, onOpen, onFold, graph, editing, onStop });
  act.current = { onSelect, onOpen, onFold, graph, editing, onStop };
  const stoppable = onStop !== null;
  const folded = useRef<string | null>(null);
  const actions = useMemo(
    () => ({
      select: (id: string | null) => act.current.onSelect(id),
      selectEdge: (id: string) => act.current.editing?.onEdge(id),
      drag: begin,
      stop: stoppable ? (id: string) => act.current.onStop?.(id) : null,
      open: (id: string) => act.current.onOpen(id),
      fold: (id: string) => {
        const node = act.current.graph.nodes.get(id);
        if (!node) return;
        folded.current = id;
        act.current.onFold(node);
      },
    }),
    [begin, stoppable],
  );
  const context = useMemo(() => ({ state, actions }), [state, actions]);

  const showIn = useRef<(id: string | null) => void>(() => undefined);
  const opened = useRef(false);
  const host = useRef<HTMLDivElement>(null);
  const before = useRef({ graph, selected });
  useLayoutEffect(() => {
    if (!ready) return;
    const last = before.current;
    before.current = { graph, selected };
    if (!opened.current) {
      opened.current = true;
      sized.current = { width: look().width, height: look().height };
      move(open(look()), 0);
      return;
    }
    if (last.graph === graph) {
      // Another pane than before: what nobody has moved is fitted to it, and else what is selected stays in it.
      const size = look();
      if (size.width === sized.current.width && size.height === sized.current.height) return;
      sized.current = { width: size.width, height: size.height };
      if (!moved.current) move(open(size), 0);
      else showIn.current(selected ?? follow ?? null);
      return;
    }
    // What was folded or edited stays where the eye is.
    const view = look();
    const anchor = anchorOf(last.graph, graph, [folded.current], { before: last.selected, after: selected }, view);
    const isThere = landed.current;
    landed.current = false;
    const wasFolded = folded.current !== null;
    folded.current = null;
    // What was whole in the window stays whole where nobody has chosen another part of it.
    if (!moved.current && !wasFolded && isWhole(last.graph, view) && !isWhole(graph, view)) {
      move(open(view));
      return;
    }
    if (!anchor) return;
    if (anchor.dx !== 0 || anchor.dy !== 0) move({ x: view.x - anchor.dx * view.zoom, y: view.y - anchor.dy * view.zoom, zoom: view.zoom }, 0);
    if (!calm.current && !isThere && host.current) glide(host.current, last.graph, graph, anchor);
  }, [graph, ready, selected, width, height]);

  const show = useCallback(
    (id: string | null) => {
      const node = id === null ? undefined : graph.nodes.get(id);
      if (node && opened.current && !isVisible(node, look())) move(reveal(node, look()));
    },
    [graph, look, move],
  );
  showIn.current = show;
  useEffect(() => show(selected), [selected, show]);
  useEffect(() => show(follow ?? null), [follow, show]);

  const movable = onMove !== null;
  const laidOut = useMemo(() => graph.ordered.map((node) => asFlowNode(node, graph.depth.get(node.id) ?? 0, movable)), [graph, movable]);
  const nodes = useMemo(() => shiftedNodes(laidOut, shift), [laidOut, shift]);
  const isMoved = useMemo(() => drawing.nodes.some((node) => node.moved), [drawing]);

  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const direction = KEYS[event.key];
    if (direction && event.shiftKey) {
      if (movable && selected !== null && !far) nudge(selected, direction);
    } else if (direction) {
      const next = walk(graph, selected, direction, came.current);
      if (next !== null && next !== selected) {
        came.current = direction === "left" || direction === "right" ? came.current : selected;
        onSelect(next);
      }
    } else if (event.key === "Enter" && selected) onOpen(selected);
    else if (event.key === " " && selected) {
      const node = graph.nodes.get(selected);
      if (node?.container) actions.fold(selected);
    } else if (event.key === "Escape" && selected) onSelect(null);
    else if (event.key === "+" || event.key === "=") zoomBy(flow.zoomIn);
    else if (event.key === "-") zoomBy(flow.zoomOut);
    else if (event.key === "0") move(fitAll(graph, look()));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const onPaneClick = (event: React.MouseEvent) => {
    if (!far && !movable) return onSelect(null);
    // What is far is painted, and open containers that can be moved let the pointer through.
    const at = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
    const node = hit(graph, at);
    const edge = far && editing && (node === null || node.container === "open") ? hitEdge(graph, at, NEAR_EDGE / look().zoom) : null;
    if (edge) editing?.onEdge(edge.id);
    else onSelect(node?.id ?? null);
  };

  const onContextMenu = (event: React.MouseEvent) => {
    // By keyboard it is for the selected node, wherever the pointer is.
    const byHand = event.button === 2 || event.ctrlKey;
    const node = byHand ? hit(graph, flow.screenToFlowPosition({ x: event.clientX, y: event.clientY })) : graph.nodes.get(selected ?? "");
    if (!onMenu || !node) return;
    event.preventDefault();
    onSelect(node.id);
    onMenu(node.id, byHand ? { x: event.clientX, y: event.clientY } : flow.flowToScreenPosition({ x: node.x + node.width / 2, y: node.y + node.height }));
  };

  return (
    <GraphContext.Provider value={context}>
      <div className={`graph${far ? " is-far" : ""}${movable ? " can-move" : ""}${editing ? " can-edit" : ""}${legend ? " has-legend" : ""}`} ref={host}>
        <div
          className="graph-keys"
          role="application"
          aria-roledescription="graph"
          aria-label={label}
          aria-describedby={help}
          tabIndex={0}
          data-graph
          onKeyDown={onKeyDown}
          onContextMenu={onContextMenu}
        >
          {far && <FarCanvas graph={graph} />}
          <ReactFlow
            nodes={far ? NO_NODES : nodes}
            nodeTypes={NODE_TYPES}
            onlyRenderVisibleElements
            minZoom={LEAST}
            maxZoom={MOST}
            nodesDraggable={movable && !far}
            nodeDragThreshold={4}
            onNodeDrag={(_, node) => drag(node.id, node.position)}
            onNodeDragStop={drop}
            nodesConnectable={false}
            nodesFocusable={false}
            edgesFocusable={false}
            elementsSelectable={false}
            disableKeyboardA11y
            zoomOnDoubleClick={false}
            // Where the page scrolls, the wheel is the page's; with Ctrl it zooms.
            panOnScroll={!narrow}
            zoomOnScroll={!narrow}
            preventScrolling={!narrow}
            onMoveStart={(event) => {
              if (event) moved.current = true;
            }}
            deleteKeyCode={null}
            selectionKeyCode={null}
            multiSelectionKeyCode={null}
            panActivationKeyCode={null}
            zoomActivationKeyCode="Control"
            onPaneClick={onPaneClick}
            // A node takes no clicks at all unless they are asked for here.
            onNodeClick={(_, node) => onSelect(node.id)}
            onNodeDoubleClick={(_, node) => (graph.nodes.get(node.id)?.container ? actions.fold(node.id) : onOpen(node.id))}
          >
            {!far && <Edges graph={graph} shift={shift} />}
            {line}
          </ReactFlow>
        </div>
        <p id={help} className="unseen">
          Arrow keys walk along the edges, Enter opens the details, Space folds, plus and minus zoom, 0 shows everything.{movable && " With Shift, arrow keys move the selected step."}
        </p>
        <div className="unseen" aria-live="polite">
          {shift ? `${graph.nodes.get(shift.id)?.name ?? shift.id} moved to ${shift.base[0] + shift.by[0]} right and ${shift.base[1] + shift.by[1]} down of its place` : announce(graph, selected, overlay, stops)}
        </div>
        {!far && legend && <Legend graph={graph} />}
        {/* What is whole in the window needs no overview, and it would lie upon a step. */}
        {scarce && !whole && <Overview graph={graph} onMove={(x, y) => move(center(x, y, look()), 0)} />}
        <div className="zoom" role="group" aria-label="Zoom">
          <button type="button" aria-label="Zoom in" title="Zoom in (+)" onClick={() => zoomBy(flow.zoomIn)}>
            <Icon name="plus" />
          </button>
          <button type="button" aria-label="Zoom out" title="Zoom out (−)" onClick={() => zoomBy(flow.zoomOut)}>
            <Icon name="minus" />
          </button>
          <button type="button" aria-label="Show everything" title="Show everything (0)" onClick={() => move(fitAll(graph, look()))}>
            <Icon name="fit" />
          </button>
          {movable && isMoved && onLayOutAgain && (
            <button type="button" aria-label="Lay out again" title="Lay out again: what was moved by hand goes back" onClick={onLayOutAgain}>
              <Icon name="undo" />
            </button>
          )}
        </div>
      </div>
    </GraphContext.Provider>
  );
}

const fitAll = (graph: Graph, view: { width: number; height: number }) => opening(graph, view, null, LEAST);

function asFlowNode(node: DrawnNode, depth: number, movable: boolean): Node {
  return {
    // What can be moved holds the window still; in an open container that would be most of it.
    style: movable && node.container === "open" ? { pointerEvents: "none" } : undefined,
    id: node.id,
    type: "drawn",
    position: { x: node.x, y: node.y },
    width: node.width,
    height: node.height,
    initialWidth: node.width,
    initialHeight: node.height,
    measured: { width: node.width, height: node.height },
    // Contents above their containers; edges lie between the two.
    zIndex: node.container === "open" ? depth : 1000 + depth,
    data: { node },
    domAttributes: { "aria-hidden": true } as object,
  };
}

function announce(graph: Graph, id: string | null, overlay: Overlay | null, stops: Stops): string {
  const node = id === null ? undefined : graph.nodes.get(id);
  if (!node) return "";
  const over = overlay?.nodes[node.id];
  const parts = [node.name, kindWord(node.kind)];
  if (over) parts.push(stateWord(over.state), ...(over.visits > 1 ? [plural(over.visits, "visit")] : []));
  const verified = verifiedBy(node);
  if (verified) parts.push(verified);
  if (stops.before === node.id) parts.push("the run is paused before it");
  const stop = stops.breaks[node.id];
  if (stop) parts.push(stop === "when" ? "breakpoint under a condition" : "breakpoint");
  if (node.container) parts.push(node.container);
  const out = graph.outgoing.get(node.id) ?? [];
  parts.push(out.length === 0 ? "leads nowhere" : `leads to ${[...new Set(out.map((edge) => targetOf(graph, edge)))].join(", ")}`);
  return parts.join(", ");
}

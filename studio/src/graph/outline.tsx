import { useEffect, useMemo, useRef, useState } from "react";
import type { DrawnNode, Drawing, Overlay } from "../api/types";
import { Icon } from "../parts/icons";
import { focusGraph } from "../parts/keys";
import { VirtualList } from "../parts/virtual";
import { kindIcon, kindWord, stateIcon, stateWord, verifiedBy } from "../parts/words";
import { indexDrawing } from "./model";
import { NO_STOPS, type Stops } from "./state";

interface Props {
  drawing: Drawing;
  selected: string | null;
  /** Whether the selected step is marked; where an edge is selected instead, it is not. */
  marked?: boolean;
  overlay?: Overlay | null;
  marks?: Record<string, "error" | "warning">;
  stops?: Stops;
  onSelect: (id: string) => void;
  onOpen: (id: string) => void;
  onFold: (node: DrawnNode) => void;
}

const ROW = 28;

/** The drawing as a tree: what a screen reader reads, and what the eye scans. */
export function Outline({ drawing, selected, marked, overlay, marks, stops = NO_STOPS, onSelect, onOpen, onFold }: Props) {
  const graph = useMemo(() => indexDrawing(drawing), [drawing]);
  const [filter, setFilter] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const rows = useMemo(() => {
    const words = filter.trim().toLowerCase();
    if (!words) return graph.ordered;
    return graph.ordered.filter((node) => `${node.name} ${node.node ?? ""} ${node.kind}`.toLowerCase().includes(words));
  }, [graph, filter]);
  const positions = useMemo(() => {
    const found = new Map<string, [number, number]>();
    for (const group of graph.children.values()) group.forEach((node, i) => found.set(node.id, [i + 1, group.length]));
    return found;
  }, [graph]);
  const active = rows.findIndex((node) => node.id === selected);
  /** Whether words were typed since a step of the list was chosen: what was selected before is not what was searched for. */
  const searched = useRef(false);

  const onKey = (event: React.KeyboardEvent, index: number) => {
    const node = rows[index];
    if (!node) return;
    if (event.key === "Enter") onOpen(node.id);
    else if (event.key === " " && node.container) onFold(node);
    else if (event.key === "ArrowRight" && node.container === "folded") onFold(node);
    else if (event.key === "ArrowRight" && graph.children.get(node.id)?.[0]) onSelect((graph.children.get(node.id)?.[0] as DrawnNode).id);
    else if (event.key === "ArrowLeft" && node.container === "open") onFold(node);
    else if (event.key === "ArrowLeft" && node.parent !== null) onSelect(node.parent);
    else return;
    event.preventDefault();
  };

  useEffect(() => setFilter(""), [drawing.nodes.length === 0]);
  // A step that was just added is selected, and is not to be hidden by words that were searched for before.
  useEffect(() => {
    if (selected !== null && active < 0 && document.activeElement !== field.current) setFilter("");
  }, [selected]);

  return (
    <div className="outline">
      <label className="field search">
        <Icon name="search" />
        <input
          ref={field}
          data-search
          type="search"
          placeholder="Find a step"
          aria-label="Find a step"
          value={filter}
          onChange={(event) => {
            searched.current = true;
            setFilter(event.target.value);
          }}
          onKeyDown={(event) => {
            // The list follows the arrow keys while the words stay in the field.
            const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
            const at = searched.current && step === 0 ? bestOf(rows, filter) : active;
            const next = step !== 0 ? rows[at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.max(0, Math.min(rows.length - 1, at + step))] : event.key === "Enter" ? (rows[at] ?? rows[0]) : undefined;
            if (!next) return;
            event.preventDefault();
            searched.current = false;
            onSelect(next.id);
            // What is typed next is a key of the graph, and not a letter of the step's name.
            if (event.key === "Enter") focusGraph();
          }}
        />
        <kbd>/</kbd>
      </label>
      {rows.length === 0 && <p className="hint">No step is called that.</p>}
      <VirtualList
        role="tree"
        rowRole="treeitem"
        label="Outline"
        count={rows.length}
        rowHeight={ROW}
        active={active}
        marked={marked}
        onActive={(index) => {
          const node = rows[index];
          if (node) onSelect(node.id);
        }}
        onKey={onKey}
        rowProps={(index) => {
          const node = rows[index] as DrawnNode;
          const [place, size] = positions.get(node.id) ?? [1, 1];
          return {
            "aria-level": (graph.depth.get(node.id) ?? 0) + 1,
            "aria-posinset": place,
            "aria-setsize": size,
            "aria-expanded": node.container ? node.container === "open" : undefined,
          };
        }}
        row={(index) => {
          const node = rows[index] as DrawnNode;
          const state = overlay?.nodes[node.id]?.state;
          const mark = marks?.[node.id];
          const stop = stops.breaks[node.id];
          return (
            <div className="outline-row" style={{ paddingLeft: 8 + (filter ? 0 : (graph.depth.get(node.id) ?? 0) * 14) }}>
              <span
                className={`twist ${node.container ?? "none"}`}
                onClick={(event) => {
                  if (!node.container) return;
                  event.stopPropagation();
                  onFold(node);
                }}
              >
                {node.container && <Icon name={node.container === "open" ? "down" : "right"} size={14} />}
              </span>
              <span className={`kind ${node.kind}`} title={kindWord(node.kind)}>
                <Icon name={kindIcon(node)} size={14} />
              </span>
              <span className="name">{node.name}</span>
              <span className="unseen">, {[kindWord(node.kind), verifiedBy(node)].filter(Boolean).join(", ")}</span>
              {node.verification && (
                <span className="dim" title={verifiedBy(node) ?? node.verification}>
                  <Icon name={node.verification === "checked" ? "checks" : "believed"} size={14} />
                </span>
              )}
              {mark && (
                <span className={`mark ${mark}`}>
                  <Icon name={mark} size={14} />
                  <span className="unseen">{mark}</span>
                </span>
              )}
              {stop && (
                <span className="stop-mark set">
                  <Icon name="break" size={12} />
                  {stop === "when" ? "break if" : "break"}
                </span>
              )}
              {stops.before === node.id && (
                <span className="tint waiting">
                  <Icon name="pause" size={14} />
                  <span className="unseen">paused before it</span>
                </span>
              )}
              {state && (
                <span className={`tint ${state}`}>
                  <Icon name={stateIcon(state)} size={14} />
                  <span className="unseen">{stateWord(state)}</span>
                </span>
              )}
            </div>
          );
        }}
      />
    </div>
  );
}

/** The row that is called as the words say, or else begins so, or else the first one. */
function bestOf(rows: DrawnNode[], words: string): number {
  const wanted = words.trim().toLowerCase();
  const exact = rows.findIndex((node) => node.name.toLowerCase() === wanted);
  return exact >= 0 ? exact : Math.max(0, rows.findIndex((node) => node.name.toLowerCase().startsWith(wanted)));
}

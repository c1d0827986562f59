import { useStoreApi } from "@xyflow/react";
import { useEffect, useRef } from "react";
import type { Drawing } from "../api/types";
import { useStore } from "../parts/store";
import { systemDark, theme } from "../parts/theme";
import type { Graph } from "./model";
import { paint, readPalette, type Palette, type View } from "./paint";
import { useGraph } from "./state";

/** The whole drawing on one canvas, painted again for each move of the window. */
export function FarCanvas({ graph }: { graph: Graph }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const flow = useStoreApi();
  const { state } = useGraph();
  const look = `${useStore(theme)} ${useStore(systemDark)}`;

  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context) return;
    const palette = readPalette(element);
    const draw = onceAFrame(() => {
      const { transform, width, height } = flow.getState();
      const ratio = devicePixelRatio;
      resize(element, width, height, ratio);
      const view = { x: transform[0], y: transform[1], zoom: transform[2], width, height };
      const { overlay, selected, edge, stops } = state.get();
      paint(context, { graph, overlay, selected, edge, stops, palette }, view, ratio);
    });
    draw();
    const ends = [flow.subscribe(draw), state.subscribe(draw)];
    return () => ends.forEach((end) => end());
  }, [graph, flow, state, look]);

  return <canvas ref={canvas} className="far" aria-hidden="true" />;
}

const MAP_WIDTH = 168;
const MAP_HEIGHT = 220;
const MAP_LEAST = 48;

/** How large the overview of a drawing is, and at which scale. */
function mapOf({ width, height }: Drawing) {
  const zoom = Math.min(MAP_WIDTH / width, MAP_HEIGHT / height);
  return { zoom, width: Math.max(MAP_LEAST, width * zoom), height: Math.max(MAP_LEAST, height * zoom) };
}

/** What the overview takes up at the left, with what stays free around it. */
export const overviewRoom = ({ drawing }: Graph) => mapOf(drawing).width + 24;

/** The overview: where the window is on a drawing that does not fit. */
export function Overview({ graph, onMove }: { graph: Graph; onMove: (x: number, y: number) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const flow = useStoreApi();
  const { state } = useGraph();
  const look = `${useStore(theme)} ${useStore(systemDark)}`;
  const { drawing } = graph;
  const { zoom, width, height } = mapOf(drawing);
  const view: View = { zoom, x: (width - drawing.width * zoom) / 2, y: (height - drawing.height * zoom) / 2, width, height };

  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context) return;
    const palette: Palette = readPalette(element);
    const draw = onceAFrame(() => {
      resize(element, width, height, devicePixelRatio);
      const { overlay, selected, edge, stops } = state.get();
      paint(context, { graph, overlay, selected, edge, stops, palette }, view, devicePixelRatio);
    });
    const place = () => {
      const { transform, width: seen, height: high } = flow.getState();
      const [x, y, scale] = transform;
      const box = frame.current;
      if (!box) return;
      box.style.transform = `translate(${view.x + (-x / scale) * zoom}px, ${view.y + (-y / scale) * zoom}px)`;
      box.style.width = `${(seen / scale) * zoom}px`;
      box.style.height = `${(high / scale) * zoom}px`;
    };
    draw();
    place();
    const ends = [flow.subscribe(place), state.subscribe(draw)];
    return () => ends.forEach((end) => end());
  }, [graph, flow, state, look]);

  const move = (event: React.PointerEvent) => {
    if (event.buttons !== 1) return;
    const box = event.currentTarget.getBoundingClientRect();
    onMove((event.clientX - box.x - view.x) / zoom, (event.clientY - box.y - view.y) / zoom);
  };

  return (
    <div className="overview" aria-hidden="true" style={{ width, height }} onPointerDown={move} onPointerMove={move}>
      <canvas ref={canvas} />
      <div ref={frame} className="window" />
    </div>
  );
}

function resize(canvas: HTMLCanvasElement, width: number, height: number, ratio: number): void {
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width === w && canvas.height === h) return;
  canvas.width = w;
  canvas.height = h;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
}

function onceAFrame(act: () => void): () => void {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      act();
    });
  };
}

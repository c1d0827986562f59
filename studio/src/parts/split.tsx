import { useState } from "react";

/** A border that can be moved by the pointer and by the arrow keys; the size is kept for the next visit. */
export function useSplit(name: string, initial: number, least: number, most: number) {
  const key = `portolan-size-${name}`;
  const [size, setSize] = useState(() => {
    try {
      return Number(localStorage.getItem(key)) || initial;
    } catch {
      return initial;
    }
  });
  const change = (next: number) => {
    const kept = Math.round(Math.max(least, Math.min(most, next)));
    setSize(kept);
    try {
      localStorage.setItem(key, String(kept));
    } catch {
      // Without storage the size lasts as long as the page.
    }
  };
  return { size, change, least, most };
}

/** Whether a pane is open, kept for the next visit. */
export function useOpen(name: string, initial: boolean): [boolean, (open: boolean) => void] {
  const key = `portolan-open-${name}`;
  const [open, setOpen] = useState(() => {
    try {
      return (localStorage.getItem(key) ?? String(initial)) === "true";
    } catch {
      return initial;
    }
  });
  const change = (next: boolean) => {
    setOpen(next);
    try {
      localStorage.setItem(key, String(next));
    } catch {
      // Without storage it lasts as long as the page.
    }
  };
  return [open, change];
}

/** In a window of a small laptop, panes beside the graph begin narrower: the graph needs the width. */
export const paneWidth = (width: number) => (innerWidth < 1360 ? Math.round(width * 0.8) : width);

type Split = ReturnType<typeof useSplit>;

/** `grows` says on which side of the border the sized pane lies: it grows when the border moves the other way. */
export function Splitter({ split, axis, grows, label }: { split: Split; axis: "x" | "y"; grows: 1 | -1; label: string }) {
  const along = (event: React.PointerEvent) => (axis === "x" ? event.clientX : event.clientY);
  const onPointerDown = (event: React.PointerEvent<HTMLDivElement>) => {
    const from = along(event);
    const size = split.size;
    const bar = event.currentTarget;
    bar.setPointerCapture(event.pointerId);
    const move = (next: PointerEvent) => split.change(size + ((axis === "x" ? next.clientX : next.clientY) - from) * grows);
    bar.addEventListener("pointermove", move);
    bar.addEventListener("lostpointercapture", () => bar.removeEventListener("pointermove", move), { once: true });
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    const [less, more] = axis === "x" ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    if (event.key !== less && event.key !== more) return;
    event.preventDefault();
    split.change(split.size + (event.key === more ? 16 : -16) * grows);
  };
  return (
    <div
      className={`splitter ${axis}`}
      role="separator"
      aria-label={label}
      aria-orientation={axis === "x" ? "vertical" : "horizontal"}
      aria-valuenow={split.size}
      aria-valuemin={split.least}
      aria-valuemax={split.most}
      tabIndex={0}
      onPointerDown={onPointerDown}
      onKeyDown={onKeyDown}
    />
  );
}

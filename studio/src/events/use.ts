import { useEffect, useRef } from "react";
import { onLive, type LiveEvent } from "./share";

export function useLive(listen: (events: LiveEvent[]) => void): void {
  const latest = useRef(listen);
  latest.current = listen;
  useEffect(() => onLive((events) => latest.current(events)), []);
}

/** Runs `act` soon, and at most once in `ms`, however often it is asked for. */
export function useThrottled(act: () => void, ms: number): () => void {
  const latest = useRef(act);
  latest.current = act;
  const state = useRef<{ timer: ReturnType<typeof setTimeout> | null; last: number }>({ timer: null, last: 0 });
  useEffect(() => {
    const { current } = state;
    return () => {
      if (current.timer !== null) clearTimeout(current.timer);
      current.timer = null;
    };
  }, []);
  return useRef(() => {
    const { current } = state;
    if (current.timer !== null) return;
    const wait = Math.max(0, current.last + ms - performance.now());
    current.timer = setTimeout(() => {
      current.timer = null;
      current.last = performance.now();
      latest.current();
    }, wait);
  }).current;
}

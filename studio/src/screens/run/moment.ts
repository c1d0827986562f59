import { useEffect, useRef, useState } from "react";
import { ApiError, get, segment } from "../../api/client";
import type { Moment } from "../../api/types";

const kept = new Map<string, Moment>();
const KEPT = 300;

export async function loadMoment(run: string, seq: number): Promise<Moment> {
  const key = `${run}@${seq}`;
  const known = kept.get(key);
  if (known) return known;
  const moment = await get<Moment>(`/runs/${segment(run)}/at/${seq}`);
  kept.set(key, moment);
  const oldest = kept.keys().next();
  if (kept.size > KEPT && !oldest.done) kept.delete(oldest.value);
  return moment;
}

/** Whether the run is over at a moment: nothing goes on from there. */
export const isEnd = (moment: Moment) => (moment.situation as { over?: boolean } | null)?.over === true;

/** Why nothing begins from the last record of a run that is over. */
export const ENDED = "the run has ended: move the slider to an earlier record";

/**
 * The moment at `seq`. While the slider is dragged or a live run is fast, one request is under way at
 * a time and the newest wish is next: the page skips moments instead of falling behind.
 */
export function useMoment(run: string, seq: number | null) {
  const [moment, setMoment] = useState<Moment | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const state = useRef({ wanted: null as number | null, busy: false, ended: false });

  useEffect(() => {
    const { current } = state;
    current.ended = false;
    return () => {
      current.ended = true;
    };
  }, []);

  useEffect(() => {
    const { current } = state;
    current.wanted = seq;
    if (current.busy || seq === null) return;
    const next = async () => {
      current.busy = true;
      let shown: number | null = null;
      while (!current.ended && current.wanted !== null && current.wanted !== shown) {
        shown = current.wanted;
        try {
          const loaded = await loadMoment(run, shown);
          if (current.ended) break;
          setMoment(loaded);
          setError(null);
        } catch (failure) {
          if (!current.ended) setError(failure instanceof ApiError ? failure : new ApiError(0, "page", String(failure)));
        }
      }
      current.busy = false;
    };
    void next();
  }, [run, seq]);

  return { moment, error };
}

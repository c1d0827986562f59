import { useCallback, useEffect, useRef, useState } from "react";
import { post, segment, toApiError, type ApiError } from "../../api/client";
import type { Breakpoint, Control, Driven, Run } from "../../api/types";
import { breakpointOf, breakpointWords } from "../../graph/stops";

export interface Drive {
  driven: Driven | null;
  breakpoints: Breakpoint[];
  busy: boolean;
  error: ApiError | null;
  /** Whether anything may be told to it. */
  allowed: boolean;
  send: (control: Control) => Promise<ApiError | null>;
  setBreakpoints: (breakpoints: Breakpoint[]) => void;
  dismiss: () => void;
}

/** Whether it is a fork that nobody has driven on yet. */
export const isReady = ({ over, origin, driven }: Run) => !over && origin !== null && driven?.phase === "stopped" && driven.failed === null;

/** How a run is driven that somebody tries, and what is told to it. */
export function useDrive(run: Run, readOnly: boolean, reload: () => void): Drive {
  const [driven, setDriven] = useState<Driven | null>(run.driven ?? null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const sent = useRef(0);
  const loaded = run.driven ?? null;
  const said = JSON.stringify(loaded);
  // What was answered to a command is newer than what was asked for before it.
  useEffect(() => {
    if (sent.current === 0) setDriven(loaded);
  }, [said]);

  const send = useCallback(
    async (control: Control) => {
      sent.current += 1;
      setBusy(true);
      try {
        setDriven(await post<Driven>(`/runs/${segment(run.run)}/control`, control));
        // An error stays until then: without it the drawing would move under the pointer that sends this.
        setError(null);
        return null;
      } catch (failure) {
        const refused = toApiError(failure);
        setError(refused);
        return refused;
      } finally {
        sent.current -= 1;
        setBusy(false);
        reload();
      }
    },
    [run.run, reload],
  );
  const setBreakpoints = useCallback((breakpoints: Breakpoint[]) => void send({ breakpoints: breakpoints.map(breakpointWords) }), [send]);
  const breakpoints = (driven?.breakpoints ?? []).map(breakpointOf);
  return { driven, breakpoints, busy, error, allowed: !readOnly && driven !== null && !run.over, send, setBreakpoints, dismiss: () => setError(null) };
}

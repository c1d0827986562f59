import { useEffect, useMemo, useRef, useState } from "react";
import { get, type ApiError } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Halt, RunEntry } from "../../api/types";
import { useLive, useThrottled } from "../../events/use";
import { isOver } from "../../parts/words";

interface Runs {
  runs: RunEntry[];
  more: boolean;
  loading: boolean;
  error: ApiError | null;
  reload: () => void;
}

/** The runs, kept current by the events: a record says how its run stands, only an unknown run is asked for. */
export function useRuns(): Runs {
  const loaded = useResource<{ runs: RunEntry[]; more: boolean }>("runs", (signal) => get("/runs?all=true&limit=200", signal));
  const [runs, setRuns] = useState<RunEntry[]>(loaded.data?.runs ?? []);
  useEffect(() => {
    if (loaded.data) setRuns(loaded.data.runs);
  }, [loaded.data]);

  const reload = useThrottled(loaded.reload, 500);
  const [changed] = useState(() => new Map<string, Partial<RunEntry>>());
  const apply = useThrottled(() => {
    const changes = new Map(changed);
    changed.clear();
    setRuns((now) => {
      const known = new Set(now.map((run) => run.run));
      if ([...changes.keys()].some((run) => !known.has(run))) reload();
      const next = now.map((run) => (changes.has(run.run) ? { ...run, ...changes.get(run.run) } : run));
      return next.sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : a.updatedAt > b.updatedAt ? -1 : 0));
    });
  }, 100);
  useLive((events) => {
    for (const event of events) {
      if (event.is !== "record") continue;
      const { run, status, step, at } = event.record;
      changed.set(run, { status, step, updatedAt: new Date(at).toISOString() });
    }
    if (changed.size > 0) apply();
  });

  return { runs, more: loaded.data?.more ?? false, loading: loaded.loading, error: loaded.error, reload: loaded.reload };
}

/** The states of runs that have a halt. */
const WITHOUT_END = new Set(["waiting", "failure", "blocked"]);

type Spent = Record<string, Halt["spent"]>;

/** Why the runs do not go on that have not done what they were for, and what the others have used; asked for again once one of them has moved. */
export function useHalts(runs: RunEntry[]): { halts: Record<string, Halt>; spent: Spent } {
  const { data, reload } = useResource<{ halts: Record<string, Halt>; spent: Spent }>("halts", (signal) => get("/halts", signal));
  const again = useThrottled(reload, 2_000);
  const shown = useRef(runs);
  useEffect(() => {
    const before = new Map(shown.current.map((run) => [run.run, run.updatedAt]));
    const isNew = runs.some((run) => before.get(run.run) !== run.updatedAt);
    const first = shown.current.length === 0;
    shown.current = runs;
    if (isNew && !first) again();
  }, [runs]);
  // A run that moved after the first answer about halts and before that about runs announces nothing further.
  const asked = useRef(new Set<string>());
  useEffect(() => {
    if (!data) return;
    const lacking = runs.filter((run) => WITHOUT_END.has(run.status) && !data.halts[run.run]).map((run) => `${run.run} ${run.updatedAt}`);
    if (lacking.every((key) => asked.current.has(key))) return;
    lacking.forEach((key) => asked.current.add(key));
    again();
  }, [data, runs]);
  // What is told of a run that has moved since is not true of it any more.
  return useMemo(() => {
    const halts: Record<string, Halt> = {};
    for (const run of runs) {
      const halt = data?.halts[run.run];
      if (halt && isOver(run.status) === (halt.turn === "nobody") && (halt.turn === "held" || (halt.turn === "person") === (run.status === "waiting"))) halts[run.run] = halt;
    }
    return { halts, spent: data?.spent ?? {} };
  }, [data, runs]);
}

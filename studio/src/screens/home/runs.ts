import { useEffect, useState } from "react";
import { get, type ApiError } from "../../api/client";
import { useResource } from "../../api/resource";
import type { RunEntry } from "../../api/types";
import { useLive, useThrottled } from "../../events/use";

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

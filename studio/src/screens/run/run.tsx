import { useMemo, useRef, useState, useSyncExternalStore } from "react";
import { get, segment } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Run } from "../../api/types";
import { useLive, useThrottled } from "../../events/use";
import { Failure, Loading } from "../../parts/notice";
import type { Route } from "../../route";
import { Records } from "./records";
import { RunWorkbench } from "./workbench";

export type RunRoute = Extract<Route, { screen: "run" }>;

export function RunScreen({ route, readOnly }: { route: RunRoute; readOnly: boolean }) {
  const loaded = useResource<Run>(`run ${route.run}`, (signal) => get(`/runs/${segment(route.run)}`, signal));
  const records = useMemo(() => new Records(route.run), [route.run]);
  useSyncExternalStore(records.subscribe, records.version);
  const [head, setHead] = useState(0);
  const newest = useRef(0);
  const reload = useThrottled(loaded.reload, 400);
  // A fast run brings more records in a second than one can see: the screen takes them in batches.
  const show = useThrottled(() => {
    setHead(newest.current);
    records.changed();
  }, 80);

  useLive((events) => {
    // How a run is driven is no record: it is asked for when the stream begins, and when it says that it has changed. Whether its definition is still the one in the file is none either.
    if (events.some((event) => event.is === "here" || event.is === "definitions" || (event.is === "driven" && (event.run ?? route.run) === route.run))) reload();
    let last = 0;
    const lines = [];
    for (const event of events) {
      if (event.is !== "record" || event.record.run !== route.run) continue;
      lines.push(event.record);
      last = Math.max(last, event.record.seq);
    }
    if (last === 0) return;
    records.add(lines, true);
    newest.current = Math.max(newest.current, last);
    show();
    reload();
  });

  if (!loaded.data) return loaded.error ? <Failure alone error={loaded.error} retry={loaded.reload} /> : <Loading what="the run" />;
  const run = { ...loaded.data, head: Math.max(head, loaded.data.head) };
  return <RunWorkbench route={route} run={run} records={records} readOnly={readOnly} reload={reload} />;
}

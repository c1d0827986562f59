import { Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { post, segment } from "../../api/client";
import { originOf, type Origin } from "../../api/origin";
import { useResource } from "../../api/resource";
import type { About, Drawing, Overlay, Run } from "../../api/types";
import { DriveBar, ForkDialog, NodeMenu, StepStop } from "../../code/later";
import { Outline } from "../../graph/outline";
import { drawnAt, stopsOf, toggled } from "../../graph/stops";
import { GraphView } from "../../graph/view";
import { Status, Tabs } from "../../parts/bits";
import { Icon } from "../../parts/icons";
import { useKeys } from "../../parts/keys";
import { Failure, InlineFailure, Loading } from "../../parts/notice";
import { paneWidth, Splitter, useSplit } from "../../parts/split";
import { go, link, note } from "../../route";
import { useFolds } from "../definition/folds";
import { isReady, useDrive } from "./drive";
import type { From } from "./fork";
import type { MenuItem } from "./menu";
import { Inspector } from "./inspector";
import { ENDED, isEnd, useMoment } from "./moment";
import type { Records } from "./records";
import type { RunRoute } from "./run";
import { RecordPane, SituationPane, ValuesPane } from "./panes";
import { Slider } from "./slider";
import { Timeline } from "./timeline";
import { WhyItStands } from "./why";

export function RunWorkbench({ route, run, records, readOnly, reload }: { route: RunRoute; run: Run; records: Records; readOnly: boolean; reload: () => void }) {
  const { folds, toggle } = useFolds();
  const drawn = useResource<{ drawing: Drawing; about: Record<string, About> }>(`drawing ${run.run} ${JSON.stringify(folds)}`, (signal) =>
    post(`/runs/${segment(run.run)}/drawing`, folds, signal),
  );
  const last = useRef(drawn.data);
  if (drawn.data) last.current = drawn.data;
  const { drawing, about } = last.current ?? { drawing: null, about: {} };

  const following = route.seq === null;
  const seq = Math.min(route.seq ?? run.head, run.head);
  const { moment, error } = useMoment(run.run, run.head > 0 ? seq : null);
  const overlay = moment?.overlay ?? null;
  const selected = route.node;
  // Until the moment is loaded, the last record of a run that is over is taken for its end.
  const ended = moment?.seq === seq ? isEnd(moment) : run.over && seq === run.head;

  const { definition } = run;
  const isFunction = definition.led === false;
  const drive = useDrive(run, readOnly, reload);
  const origin = useResource<Origin | null>(`origin ${definition.id}`, (signal) => originOf(definition.id, !isFunction, signal)).data;
  const before = drawnAt(drive.driven?.before ?? null, drawing, overlay);
  const breakpoints = JSON.stringify(drive.breakpoints);
  const stops = useMemo(() => stopsOf(drawing, drive.breakpoints, following ? before : null), [drawing, breakpoints, following, before]);
  const stopAt = (id: string | null) => {
    const node = drawing?.nodes.find((entry) => entry.id === id);
    if (drawing && node && drive.allowed) drive.setBreakpoints(toggled(drive.breakpoints, node, drawing));
  };
  const again = origin && !readOnly ? link.try(origin.id, { root: origin.root, from: run.run }) : null;

  const [leftTab, setLeftTab] = useState("timeline");
  // What a function came to is looked for first, until a step is chosen or somebody wants another pane.
  const [wantedTab, setRightTab] = useState<string | null>(null);
  const rightTab = wantedTab ?? (run.status === "success" && isFunction && selected === null ? "values" : "step");
  const [forking, setForking] = useState<From | null>(null);
  const [menu, setMenu] = useState<{ id: string; at: { x: number; y: number } } | null>(null);
  const left = useSplit("run-left", 300, 180, 520);
  const right = useSplit("run-right", paneWidth(340), 240, 620);
  const details = useRef<HTMLElement>(null);

  const goTo = useCallback((next: number | null) => note(link.run(run.run, next, selected)), [run.run, selected]);
  const moveTo = useCallback((next: number) => goTo(next >= run.head ? null : Math.max(1, next)), [goTo, run.head]);
  const select = useCallback((node: string | null) => note(link.run(run.run, route.seq, node)), [run.run, route.seq]);
  const openDetails = useCallback(
    (node: string) => {
      select(node);
      setRightTab("step");
      details.current?.focus();
    },
    [select],
  );

  const names = useMemo(() => namesIn(drawing), [drawing]);
  const nameOf = (id: string) => drawing?.nodes.find((node) => node.id === id)?.name ?? id;
  const stands = run.halt ? (run.halt.failed[0]?.node || run.halt.node) : null;
  const here = useMemo(() => hereIn(overlay, drawing) ?? (run.over && following ? stepIn(drawing, stands) : null), [overlay, drawing, run.over, following, stands]);
  const showStep = (step: string) => {
    const id = stepIn(drawing, step);
    if (id === null) return;
    goTo(null);
    note(link.run(run.run, null, id));
    setRightTab("step");
  };
  const step = selected ?? here;
  const menuOf = (id: string): MenuItem[] => [
    { icon: "retry", label: `Run again from ${nameOf(id)}…`, keys: "r", hindered: readOnly ? "this studio is read-only" : overlay?.nodes[id] ? null : "not reached", act: () => setForking({ seq: null, step: id, upTo: seq }) },
    { icon: "right", label: "Show what happened here", keys: "Enter", act: () => openDetails(id) },
    ...(drive.allowed ? [{ icon: "break" as const, label: stops.breaks[id] ? "Remove the breakpoint" : "Set a breakpoint", keys: "b", act: () => stopAt(id) }] : []),
  ];

  useKeys((event) => {
    if (event.key === "[") moveTo(seq - 1);
    else if (event.key === "]") moveTo(seq + 1);
    else if (event.key === "n") goTo(null);
    else if (event.key === "t" && again) go(again);
    else if (event.key === "r" && !readOnly && step !== null && overlay?.nodes[step]) {
      event.preventDefault();
      setForking({ seq: null, step, upTo: seq });
    }
  });
  useEffect(() => records.need(seq, seq), [records, seq]);

  return (
    <div className="workbench run">
      <header className="work-head">
        <nav className="crumbs" aria-label="Place">
          <a href={link.home()}>Runs</a>
          <Icon name="right" size={14} />
          <h1>{run.definition.name || run.workflow}</h1>
        </nav>
        {isReady({ ...run, driven: drive.driven }) ? (
          <span className="chip tint waiting">
            <Icon name="pause" size={14} />
            ready to go on
          </span>
        ) : (
          <Status status={run.status} />
        )}
        <span className="work-text">
          <code>{run.run}</code>
          {" · "}
          {origin ? <a href={link.definition(origin.id, { root: origin.root })}>its definition</a> : definition.name}
          {run.origin && (
            <>
              {" · branched from "}
              <a href={link.run(run.origin.run, run.origin.seq)}>
                {run.origin.run}@{run.origin.seq}
              </a>
              {run.origin.carried?.some((carried) => carried.seq === run.origin?.seq) && ", onto its definition as it was then"}
            </>
          )}
        </span>
        <div className="work-actions">
          <a className="button" href={link.compare({ run: run.run, seq: Math.max(1, following ? seq - 1 : seq) }, { run: run.run, seq: run.head })}>
            <Icon name="compare" />
            Compare
          </a>
          {again && (
            <a className="button" href={again} title="New run with this input, which can be changed first (t)">
              <Icon name="retry" />
              New run with this input
            </a>
          )}
          {!readOnly && (
            <button type="button" className="button" aria-disabled={ended} title={ended ? ENDED : "Creates a new run with everything up to this record. This run stays as it is."} onClick={() => !ended && setForking({ seq, step: null })}>
              <Icon name="branch" />
              Branch from this record…
            </button>
          )}
        </div>
      </header>
      {run.definition.current === false && (
        <p className="hint outdated">
          Its definition has changed since. This run goes on with the one that it began with.{" "}
          {!readOnly && (
            <button type="button" className="link" onClick={() => setForking({ seq: run.head, step: null, current: true })}>
              Branch onto the changed one…
            </button>
          )}
        </p>
      )}
      <WhyItStands run={run} names={names} nameOf={(step) => names[step] ?? nameOf(stepIn(drawing, step) ?? step)} onMove={moveTo} onShow={showStep} onAgain={isFunction && !readOnly ? (wanted) => setForking({ seq: null, step: stepIn(drawing, wanted) }) : null} />
      <Slider run={run} seq={seq} following={following} records={records} onMove={moveTo} onNow={() => goTo(null)} />
      {(drive.driven || (isFunction && !readOnly)) && (
        // Its room is kept: a graph that moved down while somebody clicks on it would lose the click.
        <Suspense fallback={<div className="drive-bar" />}>
          <DriveBar
            run={run}
            drive={drive}
            moment={following ? moment : null}
            before={drawing?.nodes.find((node) => node.id === before)?.name ?? drive.driven?.before ?? null}
            readOnly={readOnly}
            onShow={() => note(link.run(run.run, null, before))}
            onBreakpoint={drive.allowed && selected !== null ? () => stopAt(selected) : null}
          />
        </Suspense>
      )}
      {error && !moment ? <Failure error={error} /> : error && <InlineFailure error={error} />}
      <div className="work-columns" style={{ "--left": `${left.size}px`, "--right": `${right.size}px` } as React.CSSProperties}>
        <aside className="pane left" aria-label="Timeline and outline">
          <Tabs
            label="Beside the graph"
            tabs={[
              { id: "timeline", label: "Timeline" },
              { id: "outline", label: "Outline" },
            ]}
            active={leftTab}
            onChange={setLeftTab}
          />
          {leftTab === "timeline" ? (
            <Timeline records={records} head={run.head} seq={seq} names={names} onMove={moveTo} />
          ) : (
            drawing && <Outline drawing={drawing} selected={selected} overlay={overlay} stops={stops} onSelect={select} onOpen={openDetails} onFold={toggle} />
          )}
        </aside>
        <Splitter split={left} axis="x" grows={1} label="Width of the timeline" />
        <section className="pane middle" aria-label="Graph">
          {drawing ? (
            <GraphView
              label={`Graph of ${run.workflow}, record ${seq} of ${run.head}`}
              drawing={drawing}
              selected={selected}
              overlay={overlay}
              follow={before ?? here}
              stops={stops}
              onStop={drive.allowed ? stopAt : null}
              onMenu={(id, at) => setMenu({ id, at })}
              onSelect={select}
              onOpen={openDetails}
              onFold={toggle}
            />
          ) : drawn.error ? (
            <Failure error={drawn.error} retry={drawn.reload} />
          ) : (
            <Loading what="the graph" />
          )}
        </section>
        <Splitter split={right} axis="x" grows={-1} label="Width of the details" />
        <aside className="pane right" ref={details} tabIndex={0} aria-label="Details">
          <Tabs
            label="Details"
            tabs={[
              { id: "step", label: "Step" },
              { id: "situation", label: "Situation" },
              { id: "values", label: "Values" },
              { id: "record", label: "Record" },
            ]}
            active={rightTab}
            onChange={setRightTab}
          />
          <div className="tab-body" role="tabpanel" aria-label={rightTab}>
            {rightTab === "step" && (
              <Inspector run={run.run} seq={selected !== null ? seq : (moment?.seq ?? seq)} id={step} chosen={selected !== null} over={run.over} asks={run.halt?.turn !== "held"} about={about} overlay={overlay} untrusted={run.untrusted ?? null} onAgain={!readOnly && step !== null ? (at) => setForking({ seq: at, step, upTo: seq }) : null}>
                {drive.allowed && drawing && step !== null && (
                  <Suspense fallback={null}>
                    <StepStop id={step} drawing={drawing} drive={drive} />
                  </Suspense>
                )}
              </Inspector>
            )}
            {rightTab === "situation" && <SituationPane moment={moment} />}
            {rightTab === "values" && <ValuesPane moment={moment} />}
            {rightTab === "record" && <RecordPane run={run.run} seq={seq} line={records.at(seq)} />}
          </div>
        </aside>
      </div>
      {forking !== null && (
        <Suspense fallback={null}>
          <ForkDialog run={run} from={forking} about={about} again={again} drawing={drawing} onClose={() => setForking(null)} />
        </Suspense>
      )}
      {menu !== null && (
        <Suspense fallback={null}>
          <NodeMenu label={`Menu of ${nameOf(menu.id)}`} at={menu.at} items={menuOf(menu.id)} onClose={() => setMenu(null)} />
        </Suspense>
      )}
    </div>
  );
}

/** What steps are called, by their ids; where an id stands for several, its steps keep it. */
function namesIn(drawing: Drawing | null): Record<string, string> {
  const names: Record<string, string> = {};
  for (const { node, name } of drawing?.nodes ?? []) {
    if (node !== null) names[node] = node in names && names[node] !== name ? node : name;
  }
  return names;
}

/**
 * A node by its name in the drawing, or else by its id. Items of a list share their nodes: `each/2/divide` is drawn as
 * `each/divide`, or within `each` where that is folded.
 */
function stepIn(drawing: Drawing | null, step: string | null): string | null {
  if (step === null) return null;
  const named = (wanted: string) => drawing?.nodes.find((node) => node.id === wanted)?.id;
  const shared = step.split("/").filter((part) => !/^\d+$/.test(part));
  const around = shared.map((_, i) => shared.slice(0, shared.length - i).join("/"));
  return named(step) ?? drawing?.nodes.find((node) => node.node === step)?.id ?? around.map(named).find((id) => id !== undefined) ?? null;
}

/** The node that the run is at: the innermost one, and what waits for somebody first. */
function hereIn(overlay: Overlay | null, drawing: Drawing | null): string | null {
  if (!overlay || !drawing) return null;
  let found: string | null = null;
  for (const state of ["here", "checking", "waiting"]) {
    for (const node of drawing.nodes) if (overlay.nodes[node.id]?.state === state && node.container !== "open") found = node.id;
  }
  return found;
}

import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { get, post, segment } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Checked, Definition, Place, Problem } from "../../api/types";
import { useLive, useThrottled } from "../../events/use";
import { Outline } from "../../graph/outline";
import { GraphView } from "../../graph/view";
import { Tabs } from "../../parts/bits";
import { Icon } from "../../parts/icons";
import { Failure, Loading, Notice } from "../../parts/notice";
import { Splitter, useSplit } from "../../parts/split";
import { plural } from "../../parts/words";
import { link, note, type Route } from "../../route";
import { Facts } from "./facts";
import { useFolds } from "./folds";
import { marksOf, Problems } from "./problems";
import { Source } from "./source";

type DefinitionRoute = Extract<Route, { screen: "definition" }>;

export function DefinitionScreen({ route }: { route: DefinitionRoute; onlyShows: string | null }) {
  const definition = useResource<Definition>(`definition ${route.id}`, (signal) => get(`/definitions/${segment(route.id)}`, signal));
  const reload = useThrottled(definition.reload, 300);
  useLive((events) => {
    if (events.some((event) => event.is === "definitions")) reload();
  });
  if (definition.data) return <Workbench route={route} definition={definition.data} />;
  return definition.error ? <Failure alone error={definition.error} retry={definition.reload} /> : <Loading what="the definition" />;
}

function Workbench({ route, definition }: { route: DefinitionRoute; definition: Definition }) {
  const { folds, toggle, changed } = useFolds();
  const { root } = route;
  const asked = changed || root !== null;
  const key = asked ? `check ${definition.id} ${definition.revision} ${root} ${JSON.stringify(folds)}` : null;
  const checked = useResource<Checked>(key, (signal) =>
    post(`/definitions/${segment(definition.id)}/check`, { ...folds, ...(root === null ? {} : { root }) }, signal),
  );
  // While the server lays out anew, the drawing that is there stays.
  const last = useRef<Checked>(definition);
  if (!asked) last.current = definition;
  else if (checked.data) last.current = checked.data;
  const shown = last.current;
  const { problems } = shown;
  // A syntax error leaves the last sound graph on screen, greyed.
  const sound = useRef(shown);
  if (shown.drawing) sound.current = shown;
  const { drawing, about } = sound.current;

  const [tab, setTab] = useState("source");
  const [bottomOpen, setBottomOpen] = useState(true);
  const [jump, setJump] = useState<Place | null>(null);
  const bottom = useSplit("definition-bottom", 240, 96, 640);
  const left = useSplit("definition-left", 232, 160, 420);
  const right = useSplit("definition-right", 304, 220, 560);
  const facts = useRef<HTMLElement>(null);

  const selected = route.node !== null && drawing?.nodes.some((node) => node.id === route.node) ? route.node : null;
  const select = useCallback(
    (node: string | null) => {
      note(link.definition(definition.id, { root, node }));
      const place = node === null ? null : (about[node]?.place ?? null);
      if (place) setJump({ ...place });
    },
    [definition.id, root, about],
  );
  const openDetails = useCallback(
    (node: string) => {
      select(node);
      facts.current?.focus();
    },
    [select],
  );
  useEffect(() => {
    const place = route.node === null ? null : (about[route.node]?.place ?? null);
    if (place) setJump({ ...place });
  }, []);

  const marks = useMemo(() => marksOf(problems), [problems]);
  const onProblem = (problem: Problem) => {
    if (problem.node !== null) note(link.definition(definition.id, { root, node: problem.node }));
    if (problem.place) {
      setJump({ ...problem.place });
    }
  };
  const onCursor = (file: number, offset: number) => {
    const node = nodeAt(about, file, offset);
    if (node !== null && node !== selected) note(link.definition(definition.id, { root, node }));
  };

  const errors = problems.filter((problem) => problem.severity === "error").length;
  return (
    <div className="workbench">
      <header className="work-head">
        <nav className="crumbs" aria-label="Place">
          <a href={link.home()}>Definitions</a>
          <Icon name="right" size={14} />
          <h1>{definition.name}</h1>
        </nav>
        <span className="tag">{definition.dialect}</span>
        {definition.roots.length > 1 && (
          <label className="field inline">
            <span>Root</span>
            <select value={root ?? definition.roots[0]?.id} onChange={(event) => note(link.definition(definition.id, { root: event.target.value }))}>
              {definition.roots.map((entry) => (
                <option key={entry.id} value={entry.id}>
                  {entry.name}
                </option>
              ))}
            </select>
          </label>
        )}
        <p className="work-text" title={definition.description}>
          {definition.description}
        </p>
        {problems.length > 0 && (
          <button type="button" className={`chip tint ${errors > 0 ? "failed" : "waiting"}`} onClick={() => (setTab("problems"), setBottomOpen(true))}>
            <Icon name={errors > 0 ? "error" : "warning"} size={14} />
            {plural(problems.length, "problem")}
          </button>
        )}
      </header>
      {checked.error && asked && <Failure error={checked.error} retry={checked.reload} />}
      <div className="work-columns" style={{ "--left": `${left.size}px`, "--right": `${right.size}px` } as React.CSSProperties}>
        <aside className="pane left" aria-label="Outline">
          {drawing && <Outline drawing={drawing} selected={selected} marks={marks} onSelect={select} onOpen={openDetails} onFold={toggle} />}
        </aside>
        <Splitter split={left} axis="x" grows={1} label="Width of the outline" />
        <section className={`pane middle${shown.sound && shown.drawing ? "" : " stale"}`} aria-label="Graph">
          {drawing ? (
            <GraphView key={root} label={`Graph of ${definition.name}`} drawing={drawing} selected={selected} marks={marks} onSelect={select} onOpen={openDetails} onFold={toggle} />
          ) : (
            <Notice icon="warning" title="No graph can be drawn">
              <p>The source has errors that leave nothing to draw. The problems below name their places.</p>
            </Notice>
          )}
        </section>
        <Splitter split={right} axis="x" grows={-1} label="Width of the details" />
        <aside className="pane right" ref={facts} tabIndex={-1} aria-label="Details">
          <Facts about={selected === null ? null : (about[selected] ?? null)} definition={definition} onPlace={setJump} />
        </aside>
      </div>
      {bottomOpen && <Splitter split={bottom} axis="y" grows={-1} label="Height of the source" />}
      <section className="pane bottom" aria-label="Source and problems" style={{ height: bottomOpen ? bottom.size : undefined }}>
        <Tabs
          label="Below the graph"
          tabs={[
            { id: "source", label: "Source" },
            { id: "problems", label: "Problems", count: problems.length },
          ]}
          active={tab}
          onChange={(id) => (setTab(id), setBottomOpen(true))}
        >
          <button type="button" className="icon-button" aria-expanded={bottomOpen} aria-label={bottomOpen ? "Close the source" : "Open the source"} onClick={() => setBottomOpen(!bottomOpen)}>
            <Icon name={bottomOpen ? "down" : "right"} />
          </button>
        </Tabs>
        {bottomOpen && (
          <>
            <div className="tab-body" role="tabpanel" aria-label="Source" hidden={tab !== "source"}>
              <Source files={definition.files} problems={problems} jump={jump} onCursor={onCursor} />
            </div>
            {tab === "problems" && (
              <div className="tab-body" role="tabpanel" aria-label="Problems">
                <Problems problems={problems} files={definition.files} selected={selected} onChoose={(problem) => onProblem(problem)} onShow={() => setTab("source")} />
              </div>
            )}
          </>
        )}
      </section>
    </div>
  );
}

/** The innermost node whose place holds this offset. */
export function nodeAt(about: Checked["about"], file: number, offset: number): string | null {
  let found: string | null = null;
  let size = Infinity;
  for (const [id, { place }] of Object.entries(about)) {
    if (!place || place.file !== file || offset < place.from || offset > place.to) continue;
    if (place.to - place.from < size) {
      size = place.to - place.from;
      found = id;
    }
  }
  return found;
}

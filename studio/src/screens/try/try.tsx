import { useEffect, useMemo, useRef, useState } from "react";
import { get, post, segment, toApiError, type ApiError } from "../../api/client";
import { openingOf, type Opening } from "../../api/opening";
import { useResource } from "../../api/resource";
import type { Checked, Definition, DefinitionEntry, Project, RunEntry } from "../../api/types";
import { isKept } from "../../document/kept";
import { stopsOf, toggled } from "../../graph/stops";
import { GraphView } from "../../graph/view";
import { Icon } from "../../parts/icons";
import { useKeys } from "../../parts/keys";
import { Failure, InlineFailure, Loading, Notice } from "../../parts/notice";
import { Splitter, useSplit } from "../../parts/split";
import { plural } from "../../parts/words";
import { go, link, note, type Route } from "../../route";
import { useFolds } from "../definition/folds";
import { AnswerFields } from "./answers";
import { askedIn, foldedIn } from "./asked";
import { BreakpointField } from "./breakpoints";
import { draftOf, EMPTY, requestOf, type Draft, type Problems, type Shape } from "./draft";
import { InputFields } from "./input";
import { fieldsOf, namedFields } from "./schema";

type TryRoute = Extract<Route, { screen: "try" }>;

export function TryScreen({ route, project }: { route: TryRoute; project: Project | null }) {
  const definition = useResource<Definition>(`definition ${route.id}`, (signal) => get(`/definitions/${segment(route.id)}`, signal));
  const list = useResource<{ definitions: DefinitionEntry[] }>("definitions", (signal) => get("/definitions", signal));
  const earlier = useResource<Opening>(route.from === null ? null : `opening ${route.from}`, (signal) => openingOf(route.from ?? "", signal));
  const failed = definition.error ?? list.error ?? earlier.error;
  if (failed && !(definition.data && list.data && (route.from === null || earlier.data))) return <Failure alone error={failed} retry={() => [definition, list, earlier].forEach(({ reload }) => reload())} />;
  if (!definition.data || !list.data || (route.from !== null && !earlier.data)) return <Loading what="the form" />;
  const led = list.data.definitions.find((entry) => entry.id === route.id)?.led ?? false;
  const root = definition.data.roots.find((entry) => entry.id === route.root)?.id ?? definition.data.roots[0]?.id ?? "";
  return <TryForm key={root} route={route} root={root} definition={definition.data} led={led} earlier={earlier.data} project={project} />;
}

/** What was filled in last, by definition and workflow, as long as the page is open. */
const kept = new Map<string, Draft>();

interface Props {
  route: TryRoute;
  root: string;
  definition: Definition;
  led: boolean;
  earlier: Opening | null;
  project: Project | null;
}

function TryForm({ route, root, definition, led, earlier, project }: Props) {
  const blocked = project === null || project.onlyShows !== null;
  const { id, roots } = definition;
  const known = roots.find((entry) => entry.id === root);
  const shape = useMemo<Shape>(() => ({ root: roots.length > 1 ? root : null, led, fields: fieldsOf(known?.input), asks: known?.asks ?? null }), [roots, root, led, known]);
  const key = `${id}\n${root}`;
  const [draft, setDraft] = useState<Draft>(() => (earlier ? draftOf(earlier, shape) : (kept.get(key) ?? EMPTY)));
  const [problems, setProblems] = useState<Problems>({});
  const [sending, setSending] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const form = useRef<HTMLFormElement>(null);
  const unsaved = useMemo(() => isKept(id), [id]);
  const left = useSplit("try-left", 460, 320, 760);
  const { folds, toggle } = useFolds();
  const folded = JSON.stringify(folds);
  const drawn = useResource<Checked>(`try ${key} ${definition.revision} ${folded}`, (signal) => post(`/definitions/${segment(id)}/checks`, { root, ...folds }, signal), true);
  const runs = useResource<{ runs: RunEntry[] }>("runs", (signal) => get("/runs?all=true&limit=200", signal));
  const drawing = drawn.data?.drawing ?? null;
  const selected = route.node;
  // Calls inside of what is folded are told of as well: so everything is opened once, for their places.
  const inner = foldedIn(drawing);
  const wide = useResource<Checked>(draft.who === "written" && inner.length > 0 ? `asks ${key} ${definition.revision} ${inner.join()}` : null, (signal) => post(`/definitions/${segment(id)}/checks`, { root, folded: [], opened: inner }, signal), true);
  const asked = shape.asks && askedIn(shape.asks, wide.data?.drawing ?? drawing);
  const change = (part: Partial<Draft>) => setDraft((now) => ({ ...now, ...part }));
  useEffect(() => void kept.set(key, draft), [key, draft]);
  useEffect(() => form.current?.querySelector<HTMLElement>("input, select, textarea")?.focus({ preventScroll: true }), []);

  const nameOf = (node: string) => drawing?.nodes.find((entry) => entry.id === node)?.name ?? node;
  const select = (node: string | null) => note(link.try(id, { root: route.root, from: route.from, node }));
  const stop = (at: string | null) => {
    const node = drawing?.nodes.find((entry) => entry.id === at);
    if (drawing && node) change({ breakpoints: toggled(draft.breakpoints, node, drawing) });
  };
  useKeys((event) => {
    if (event.key === "b" && !led && selected !== null) stop(selected);
  });
  const stops = useMemo(() => stopsOf(drawing, draft.breakpoints, null), [drawing, draft.breakpoints]);

  const begin = async (event?: React.FormEvent) => {
    event?.preventDefault();
    if (sending || blocked) return;
    setError(null);
    const wanted = requestOf(draft, shape);
    setProblems("problems" in wanted ? wanted.problems : {});
    if ("problems" in wanted) return showFirst();
    setSending(true);
    try {
      const { run } = await post<{ run: string }>(`/definitions/${segment(id)}/try`, wanted.request);
      go(link.run(run));
    } catch (failure) {
      const refused = toApiError(failure);
      setError(refused);
      setSending(false);
      if (refused.code !== "bad_input" || !shape.fields || draft.mode === "json") return;
      const named = namedFields(refused.message, shape.fields);
      setProblems(Object.fromEntries(Object.entries(named).map(([name, said]) => [`input.${name}`, said])));
      showFirst();
    }
  };
  /** The first field with a problem takes the focus. */
  const showFirst = () => requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());

  const errors = definition.problems.filter((problem) => problem.severity === "error").length;
  const earlierRuns = (runs.data?.runs ?? []).filter((run) => run.workflow === root || run.workflow === known?.name);

  return (
    <div className="workbench try">
      <header className="work-head">
        <nav className="crumbs" aria-label="Place">
          <a href={link.home()}>Definitions</a>
          <Icon name="right" size={14} />
          <a href={link.definition(id, { root: route.root })}>{definition.name}</a>
          <Icon name="right" size={14} />
          <h1>Try it</h1>
        </nav>
        {roots.length > 1 && (
          <label className="field inline">
            <span>Workflow</span>
            <select value={root} onChange={(event) => note(link.try(id, { root: event.target.value }))}>
              {roots.map((entry) => (
                <option key={entry.id} value={entry.id}>
                  {entry.name}
                </option>
              ))}
            </select>
          </label>
        )}
        <p className="work-text">
          {earlier ? (
            <>
              With the input of <a href={link.run(earlier.run)}>{earlier.run}</a>
            </>
          ) : (
            definition.description
          )}
        </p>
      </header>
      <div className="work-columns" style={{ "--left": `${left.size}px` } as React.CSSProperties}>
        <form
          className="pane try-form"
          ref={form}
          aria-label={`Try ${definition.name}`}
          noValidate
          onSubmit={(event) => void begin(event)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void begin();
          }}
        >
          <div className="try-fields">
            {unsaved ? (
              <p className="inline-failure" role="status">
                <Icon name="warning" />
                <span>
                  The saved file is tried, not your changes: those are not saved. <a href={link.definition(id, { root: route.root })}>Go back and save them</a>
                </span>
              </p>
            ) : (
              <p className="dim">
                What is tried is what is saved: <code>{definition.files.map((file) => file.name).join(", ")}</code>
              </p>
            )}
            {errors > 0 && (
              <p className="inline-failure">
                <Icon name="error" />
                <span>
                  It has {plural(errors, "error")} and cannot be run like this. <a href={link.definition(id, { root: route.root })}>See them</a>
                </span>
              </p>
            )}
            {led && (
              <label className="field block edit-field">
                <span>What is wanted</span>
                <textarea className="grows" rows={3} value={draft.description} onChange={(event) => change({ description: event.target.value })} />
                <span className="field-help">An agent is led through this workflow: the run waits for one, or for you in a terminal.</span>
              </label>
            )}
            {(!led || shape.fields !== null || draft.json !== "") && <InputFields draft={draft} fields={shape.fields} problems={problems} onChange={change} />}
            {!led && <AnswerFields draft={draft} asks={asked} runs={earlierRuns} problems={problems} onChange={change} />}
            {!led && definition.dialect === "states" && draft.who === "servers" && (
              <label className="field block edit-field">
                <span>Model</span>
                <input type="text" className="mono" autoComplete="off" spellCheck={false} value={draft.model} onChange={(event) => change({ model: event.target.value })} />
                <span className="field-help">For states that name none.</span>
              </label>
            )}
            {!led && (
              <fieldset>
                <legend>Where it waits</legend>
                <label className="check-field">
                  <input type="checkbox" checked={draft.paused} onChange={(event) => change({ paused: event.target.checked })} />
                  Pause before the first node
                </label>
                {draft.breakpoints.map((breakpoint) => (
                  <BreakpointField
                    key={breakpoint.node}
                    breakpoint={breakpoint}
                    name={nameOf(breakpoint.node)}
                    onWhen={(when) => change({ breakpoints: draft.breakpoints.map((other) => (other.node === breakpoint.node ? { ...other, when } : other)) })}
                    onRemove={() => change({ breakpoints: draft.breakpoints.filter((other) => other.node !== breakpoint.node) })}
                  />
                ))}
                <label className="field inline">
                  <span>Breakpoint at</span>
                  <select value="" onChange={(event) => stop(event.target.value)}>
                    <option value="">choose a node</option>
                    {drawing?.nodes
                      .filter((node) => !stops.breaks[node.id])
                      .map((node) => (
                        <option key={node.id} value={node.id}>
                          {node.name === node.id ? node.id : `${node.name} (${node.id})`}
                        </option>
                      ))}
                  </select>
                </label>
                <p className="dim">Or select a node in the graph and press b.</p>
              </fieldset>
            )}
          </div>
          <footer className="try-foot">
            {error && <InlineFailure error={error} />}
            {project !== null && project.onlyShows !== null && <p className="hint">{project.onlyShows}</p>}
            <button type="submit" className="button primary" disabled={sending || blocked} title="Ctrl+Enter">
              <Icon name="play" />
              {sending ? "Beginning…" : led ? "Begin a run" : "Run it"}
            </button>
          </footer>
        </form>
        <Splitter split={left} axis="x" grows={1} label="Width of the form" />
        <section className="pane middle" aria-label="Graph">
          {drawing ? (
            <GraphView label={`Graph of ${definition.name}`} drawing={drawing} selected={selected} stops={stops} onStop={led ? null : stop} onSelect={select} onOpen={select} onFold={toggle} />
          ) : drawn.error ? (
            <Failure error={drawn.error} retry={drawn.reload} />
          ) : drawn.loading ? (
            <Loading what="the graph" />
          ) : (
            <Notice icon="warning" title="No graph can be drawn">
              <p>The source has errors that leave nothing to draw.</p>
            </Notice>
          )}
        </section>
      </div>
    </div>
  );
}

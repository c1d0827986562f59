import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { get, segment, type ApiError } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Checked, Definition, Edited, Operation, Problem } from "../../api/types";
import { useLive, useThrottled } from "../../events/use";
import { indexDrawing } from "../../graph/model";
import { Outline } from "../../graph/outline";
import { GraphView } from "../../graph/view";
import { Tabs } from "../../parts/bits";
import { Dialog } from "../../parts/dialog";
import { Icon } from "../../parts/icons";
import { isTyping, useKeys } from "../../parts/keys";
import { Failure, InlineFailure, Loading, Notice } from "../../parts/notice";
import { Splitter, useSplit } from "../../parts/split";
import { iconOfKind, plural } from "../../parts/words";
import { go, link, note, type Route } from "../../route";
import { AskDialog, asksOutcome, type Ask, type Placement } from "./ask";
import { ConflictDialog } from "./conflict";
import { copiedNodes, copyNode, pasteOperations } from "./copy";
import { useFolds } from "./folds";
import { DefinitionForm, EdgeForm, NodeForm } from "./form";
import { marksOf, Problems } from "./problems";
import { SaveDialog } from "./save";
import { useLeaving, useSession, type Operations } from "./session";
import { Source, type Jump } from "./source";

type DefinitionRoute = Extract<Route, { screen: "definition" }>;

export function DefinitionScreen({ route, onlyShows }: { route: DefinitionRoute; onlyShows: string | null }) {
  const definition = useResource<Definition>(`definition ${route.id}`, (signal) => get(`/definitions/${segment(route.id)}`, signal));
  const reload = useThrottled(definition.reload, 300);
  useLive((events) => {
    if (events.some((event) => event.is === "definitions")) reload();
  });
  if (definition.data) {
    // Other files are another document.
    const files = definition.data.files.map((file) => file.name).join("\n");
    return <Workbench key={`${definition.data.id}\n${files}`} route={route} definition={definition.data} onlyShows={onlyShows} onSaved={reload} />;
  }
  return definition.error ? <Failure alone error={definition.error} retry={definition.reload} /> : <Loading what="the definition" />;
}

function Workbench({ route, definition, onlyShows, onSaved }: { route: DefinitionRoute; definition: Definition; onlyShows: string | null; onSaved: () => void }) {
  const { folds, toggle } = useFolds();
  const { root } = route;
  const shape = useMemo(() => ({ root, ...folds }), [root, folds]);
  const writable = definition.writable && onlyShows === null;
  const session = useSession(definition, shape, writable);
  const { document, state, checked, kept, theirs, run: carryOut } = session;
  const { problems } = checked.checked;
  const shown = checked.sound;
  const { drawing, about } = shown;
  const sound = checked.checked.sound && checked.checked.drawing !== null;
  const editable = writable && definition.editable && sound;

  const [tab, setTab] = useState("source");
  const [bottomOpen, setBottomOpen] = useState(true);
  const [jump, setJump] = useState<Jump | null>(null);
  const [edgeId, setEdge] = useState<string | null>(null);
  const [ask, setAsk] = useState<Ask | null>(null);
  const [dialog, setDialog] = useState<"save" | "conflict" | null>(null);
  const [refusal, setRefusal] = useState<ApiError | null>(null);
  const bottom = useSplit("definition-bottom", 240, 96, 640);
  const left = useSplit("definition-left", 232, 160, 420);
  const right = useSplit("definition-right", 304, 220, 560);
  const facts = useRef<HTMLElement>(null);
  const { leaving, stay } = useLeaving(definition.id, state.unsaved);

  const selected = route.node !== null && drawing?.nodes.some((node) => node.id === route.node) ? route.node : null;
  const edge = edgeId === null ? null : (drawing?.edges.find((entry) => entry.id === edgeId) ?? null);
  const latest = useRef({ selected, edge, about, shown, editable });
  latest.current = { selected, edge, about, shown, editable };

  const address = useCallback((node: string | null) => note(link.definition(definition.id, { root, node })), [definition.id, root]);
  const select = useCallback(
    (node: string | null) => {
      address(node);
      setEdge(null);
      setRefusal(null);
      const place = node === null ? null : (latest.current.about[node]?.place ?? null);
      if (place) setJump({ ...place });
    },
    [address],
  );
  const selectEdge = useCallback((id: string) => {
    setEdge(id);
    setRefusal(null);
    const place = latest.current.shown.edges[id];
    if (place) setJump({ ...place });
  }, []);
  const openDetails = useCallback(
    (node: string) => {
      const focus = () => (facts.current?.querySelector<HTMLElement>("[data-form] :is(input, select, textarea)") ?? facts.current)?.focus();
      const isShown = latest.current.selected === node && latest.current.edge === null;
      select(node);
      if (isShown) focus();
      else requestAnimationFrame(focus);
    },
    [select],
  );
  useEffect(() => {
    const place = route.node === null ? null : (about[route.node]?.place ?? null);
    if (place) setJump({ ...place });
  }, []);

  const operate = useCallback(
    (operations: Operations) => {
      setRefusal(null);
      return carryOut(operations, latest.current.selected, (result: Edited) => {
        // Names of edges belong to one drawing.
        setEdge((now) => (now !== null && operations.length === 1 && keepsEdge(operations[0]) && result.drawing?.edges.some((entry) => entry.id === now) ? now : null));
        if (result.select !== null) address(result.select);
        const place = result.select === null ? null : (result.about[result.select]?.place ?? null);
        if (place) setJump({ ...place });
      });
    },
    [carryOut, address],
  );
  const run = useCallback((operation: Operation) => operate([operation]), [operate]);
  /** For what is done without a dialog: a refusal stands above the graph. */
  const runHere = useCallback((operation: Operation) => void run(operation).then(setRefusal), [run]);

  const time = (step: ReturnType<typeof document.undo>) => {
    if (!step) return;
    setEdge(null);
    if (step.select !== latest.current.selected) address(step.select);
    const [first] = step.splices;
    if (first) setJump({ file: first.file, from: first.from, to: first.from + first.inserted.length });
  };

  const connect = useCallback(
    (from: string, to: string) => {
      if (asksOutcome(definition, latest.current.about[from])) setAsk({ is: "outcome", from, to });
      else runHere({ is: "connect", from, to });
    },
    [definition, runHere],
  );
  const editing = useMemo(
    () => (editable ? { onConnect: connect, onReconnect: (id: string, to: string) => runHere({ is: "reconnect", edge: id, to }), onEdge: selectEdge } : null),
    [editable, connect, runHere, selectEdge],
  );

  const placements = useMemo(() => placementsOf(definition, shown, selected, edge?.id ?? null), [definition, shown, selected, edge]);
  const canChange = editable && selected !== null && about[selected]?.editable === true;
  const duplicate = () => selected !== null && canChange && runHere({ is: "duplicate", node: selected });
  const removeEdge = () => edge && runHere({ is: "disconnect", edge: edge.id });
  const nextEdge = () => {
    if (!drawing || selected === null) return;
    const out = indexDrawing(drawing).outgoing.get(selected) ?? [];
    const next = out[(out.findIndex((entry) => entry.id === edge?.id) + 1) % Math.max(1, out.length)];
    if (next) selectEdge(next.id);
  };

  useKeys((event) => {
    if (!editable) return;
    if (event.key === "a") setAsk({ is: "add" });
    else if (event.key === "c" && edge) setAsk({ is: "connect", from: edge.from, edge: edge.id });
    else if (event.key === "c" && canChange) setAsk({ is: "connect", from: selected, edge: null });
    else if (event.key === "e") nextEdge();
    else if (event.key === "F2" && canChange) setAsk({ is: "rename", node: selected });
    else if (event.key === "k" && canChange) setAsk({ is: "kind", node: selected });
    else if ((event.key === "Delete" || event.key === "Backspace") && edge) removeEdge();
    else if ((event.key === "Delete" || event.key === "Backspace") && canChange) setAsk({ is: "delete", node: selected });
    else return;
    event.preventDefault();
  });

  const commands = useRef<(event: KeyboardEvent) => void>(() => undefined);
  commands.current = (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || window.document.querySelector("dialog[open]")) return;
    const key = event.key.toLowerCase();
    const field = event.composedPath()[0];
    if (key === "s") {
      // What stands in a field is a part of what is saved.
      if (field instanceof HTMLElement && field.closest("[data-form]")) field.blur();
      if (writable) void session.wire.settled().then(() => document.state.get().unsaved && setDialog(theirs ? "conflict" : "save"));
    } else if (key === "z" || key === "y") {
      if (!writable || hasOwnUndo(field)) return;
      time(key === "y" || event.shiftKey ? document.redo() : document.undo());
    } else if (key === "d" && editable && !isTyping(event)) duplicate();
    else return;
    event.preventDefault();
  };
  const clipboard = useRef<(event: ClipboardEvent) => void>(() => undefined);
  clipboard.current = (event) => {
    if (isTyping(event) || window.document.querySelector("dialog[open]") || !(window.getSelection()?.isCollapsed ?? true)) return;
    if (event.type === "copy") {
      const text = selected === null || !about[selected] ? null : copyNode(about[selected]);
      if (text === null) return;
      event.clipboardData?.setData("text/plain", text);
    } else {
      const nodes = editable ? copiedNodes(event.clipboardData?.getData("text/plain") ?? "") : null;
      if (!nodes || !drawing) return;
      const taken = new Set(drawing.nodes.map((node) => node.node ?? node.id));
      void operate(pasteOperations(nodes, taken, placements[0]?.place ?? {})).then(setRefusal);
    }
    event.preventDefault();
  };
  useEffect(() => {
    const key = (event: KeyboardEvent) => commands.current(event);
    const clip = (event: ClipboardEvent) => clipboard.current(event);
    addEventListener("keydown", key);
    addEventListener("copy", clip);
    addEventListener("paste", clip);
    return () => {
      removeEventListener("keydown", key);
      removeEventListener("copy", clip);
      removeEventListener("paste", clip);
    };
  }, []);

  const marks = useMemo(() => marksOf(problems), [problems]);
  const onProblem = (problem: Problem) => {
    if (problem.node !== null) select(problem.node);
    if (problem.place) setJump({ ...problem.place });
  };
  const onCursor = (file: number, offset: number) => {
    const node = nodeAt(about, file, offset);
    if (node !== null && node !== selected) {
      address(node);
      setEdge(null);
    }
  };

  const errors = problems.filter((problem) => problem.severity === "error").length;
  const syntax = sound ? null : (problems.find((problem) => problem.severity === "error") ?? null);
  const forms = { definition, shown, problems, editable, run, onPlace: (place: Jump) => setJump({ ...place }), onEdge: selectEdge };
  const limits = onlyShows ?? (!definition.writable ? "This definition belongs to the catalogue: it can be read here, not changed." : !definition.editable ? "This dialect is edited as text: the graph follows." : null);

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
        <p className="work-text" title={limits ?? definition.description}>
          {limits ?? definition.description}
        </p>
        {problems.length > 0 && (
          <button type="button" className={`chip tint ${errors > 0 ? "failed" : "waiting"}`} onClick={() => (setTab("problems"), setBottomOpen(true))}>
            <Icon name={errors > 0 ? "error" : "warning"} size={14} />
            {plural(problems.length, "problem")}
          </button>
        )}
        {writable && (
          <div className="work-actions">
            <button type="button" className="icon-button" aria-label="Undo" title="Undo (Ctrl+Z)" disabled={!state.canUndo} onClick={() => time(document.undo())}>
              <Icon name="undo" />
            </button>
            <button type="button" className="icon-button" aria-label="Redo" title="Redo (Shift+Ctrl+Z)" disabled={!state.canRedo} onClick={() => time(document.redo())}>
              <Icon name="redo" />
            </button>
            {editable && (
              <button type="button" className="button" title="Add a step (a)" onClick={() => setAsk({ is: "add" })}>
                <Icon name="plus" />
                Add
              </button>
            )}
            <button type="button" className="button primary" title="Save (Ctrl+S)" disabled={!state.unsaved} onClick={() => setDialog(theirs ? "conflict" : "save")}>
              {state.unsaved ? "Save…" : "Saved"}
            </button>
          </div>
        )}
      </header>
      {kept && (
        <p className="banner" role="status">
          <Icon name="warning" />
          <span>This tab still has changes of yours that were never saved.</span>
          <button type="button" className="button small" onClick={session.takeKept}>
            Take them up again
          </button>
          <button type="button" className="button small" onClick={session.dropKept}>
            Throw them away
          </button>
        </p>
      )}
      {theirs && state.unsaved && (
        <p className="banner" role="status">
          <Icon name="warning" />
          <span>
            <b>It was changed on disk</b> while you edit. Nothing of it is overwritten.
          </span>
          <button type="button" className="button small" onClick={() => setDialog("conflict")}>
            Compare and choose
          </button>
        </p>
      )}
      {checked.error && <InlineFailure error={checked.error} />}
      <div className="work-columns" style={{ "--left": `${left.size}px`, "--right": `${right.size}px` } as React.CSSProperties}>
        <aside className="pane left" aria-label="Outline">
          {drawing && <Outline drawing={drawing} selected={selected} marks={marks} onSelect={select} onOpen={openDetails} onFold={toggle} />}
          {editable && (
            <details className="palette">
              <summary>Add a step</summary>
              <p className="dim">{placements[0]?.label}</p>
              <ul>
                {definition.palette
                  .filter((kind) => kind.addable)
                  .map((kind) => (
                    <li key={kind.kind}>
                      <button type="button" title={kind.help} onClick={() => runHere({ is: "add", kind: kind.kind, ...placements[0]?.place })}>
                        <Icon name={iconOfKind(kind.kind)} size={14} />
                        {kind.label}
                      </button>
                    </li>
                  ))}
              </ul>
            </details>
          )}
        </aside>
        <Splitter split={left} axis="x" grows={1} label="Width of the outline" />
        <section className={`pane middle${sound ? "" : " stale"}`} aria-label="Graph">
          {drawing ? (
            <GraphView
              key={root}
              label={`Graph of ${definition.name}`}
              drawing={drawing}
              selected={selected}
              edge={edge?.id ?? null}
              editing={editing}
              marks={marks}
              onSelect={select}
              onOpen={openDetails}
              onFold={toggle}
            />
          ) : (
            <Notice icon="warning" title="No graph can be drawn">
              <p>The source has errors that leave nothing to draw. The problems below name their places.</p>
            </Notice>
          )}
          {refusal && (
            <div className="over-graph" role="alert">
              <Icon name="error" />
              <span>
                {refusal.message} {refusal.help && <span className="dim">{refusal.help}</span>}
              </span>
              <button type="button" className="icon-button" aria-label="Close" onClick={() => setRefusal(null)}>
                <Icon name="close" />
              </button>
            </div>
          )}
          {!sound && drawing && (
            <div className="over-graph" role="status">
              <Icon name="warning" />
              <span>
                The text cannot be read now; this is the last graph. {syntax?.message}{" "}
                {syntax?.place && (
                  <button type="button" className="link" onClick={() => onProblem(syntax)}>
                    line {syntax.place.line}
                  </button>
                )}
              </span>
            </div>
          )}
        </section>
        <Splitter split={right} axis="x" grows={-1} label="Width of the details" />
        <aside className="pane right" ref={facts} tabIndex={0} aria-label="Details">
          {edge ? (
            <EdgeForm
              {...forms}
              edge={edge}
              kind={definition.palette.find((kind) => kind.kind === about[edge.from]?.word)}
              onSelect={select}
              onRemove={() => runHere({ is: "disconnect", edge: edge.id })}
              onReconnect={() => setAsk({ is: "connect", from: edge.from, edge: edge.id })}
            />
          ) : selected !== null && about[selected] ? (
            <NodeForm
              {...forms}
              id={selected}
              about={about[selected]}
              actions={{
                rename: () => setAsk({ is: "rename", node: selected }),
                connect: () => setAsk({ is: "connect", from: selected, edge: null }),
                kind: () => setAsk({ is: "kind", node: selected }),
                remove: () => setAsk({ is: "delete", node: selected }),
                duplicate,
              }}
            />
          ) : (
            <DefinitionForm {...forms} />
          )}
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
              <Source document={document} writable={writable} problems={problems} jump={jump} selected={selected} onCursor={onCursor} />
            </div>
            {tab === "problems" && (
              <div className="tab-body" role="tabpanel" aria-label="Problems">
                <Problems problems={problems} files={definition.files} selected={selected} onChoose={(problem) => onProblem(problem)} onShow={() => setTab("source")} />
              </div>
            )}
          </>
        )}
      </section>
      {ask && <AskDialog key={ask.is} ask={ask} definition={definition} shown={shown} placements={placements} run={run} onAsk={setAsk} />}
      {dialog === "save" && (
        <SaveDialog
          document={document}
          errors={errors}
          onClose={() => setDialog(null)}
          onSave={async () => {
            const error = await session.save();
            if (error?.code === "changed") setDialog("conflict");
            else if (error) return error;
            else {
              setDialog(null);
              onSaved();
            }
            return null;
          }}
        />
      )}
      {dialog === "conflict" && theirs && (
        <ConflictDialog
          document={document}
          current={theirs}
          onClose={() => setDialog(null)}
          onMerged={(texts) => {
            session.merged(texts, theirs, selected);
            setDialog(document.state.get().unsaved ? "save" : null);
          }}
        />
      )}
      {leaving !== null && (
        <Dialog title="Leave without saving?" onClose={stay}>
          <p>“{definition.name}” has changes that are not saved. This tab keeps them until it is closed, and offers them when you come back.</p>
          <div className="actions end">
            <button type="button" className="button" autoFocus onClick={stay}>
              Stay
            </button>
            <button
              type="button"
              className="button"
              onClick={() => {
                session.discard();
                stay();
                setTimeout(() => go(leaving));
              }}
            >
              Throw them away
            </button>
            <button
              type="button"
              className="button primary"
              onClick={() => {
                session.leave();
                stay();
                setTimeout(() => go(leaving));
              }}
            >
              Leave
            </button>
          </div>
        </Dialog>
      )}
    </div>
  );
}

/** A field that holds something of its own, unsent or searched for, takes back that first. */
function hasOwnUndo(field: EventTarget | undefined): boolean {
  if (!(field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement)) return false;
  return field.closest("[data-form]") ? field.hasAttribute("data-draft") : field.value !== "";
}

const keepsEdge = (operation: Operations[number] | undefined) => typeof operation === "object" && (operation.is === "outcome" || operation.is === "reconnect");

/** Where a step can be added, the likeliest place first. */
function placementsOf(definition: Definition, shown: Checked, selected: string | null, edge: string | null): Placement[] {
  const places: Placement[] = [];
  const nameOf = (id: string) => shown.about[id]?.name ?? id;
  const drawn = edge === null ? undefined : shown.drawing?.edges.find((entry) => entry.id === edge);
  if (drawn && shown.edges[drawn.id]) places.push({ label: `Between “${nameOf(drawn.from)}” and “${nameOf(drawn.to)}”`, place: { edge: drawn.id } });
  const about = selected === null ? undefined : shown.about[selected];
  const node = selected === null ? undefined : shown.drawing?.nodes.find((entry) => entry.id === selected);
  if (about?.editable && selected !== null && node?.kind !== "end") {
    const used = new Set(shown.drawing?.edges.filter((entry) => entry.from === selected).map((entry) => entry.on));
    const on = asksOutcome(definition, about) ? about.outcomes?.find((outcome) => !used.has(outcome)) : undefined;
    places.push({ label: `Behind “${about.name}”${on ? `, on ${on}` : ""}`, place: { after: selected, ...(on ? { on } : {}) } });
  }
  return [...places, { label: "Unconnected", place: {} }];
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

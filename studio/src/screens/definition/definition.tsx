import { Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { get, segment, type ApiError } from "../../api/client";
import { useResource } from "../../api/resource";
import { askedOf } from "./asked";
import { AskDialog, ConflictDialog, later, SaveDialog } from "../../code/later";
import type { Definition, Edited, Operation, Problem } from "../../api/types";
import { useLive, useThrottled } from "../../events/use";
import { indexDrawing } from "../../graph/model";
import { Outline } from "../../graph/outline";
import { GraphView } from "../../graph/view";
import { Coded, Tabs } from "../../parts/bits";
import { Icon } from "../../parts/icons";
import { focusGraph, useKeys } from "../../parts/keys";
import { Failure, InlineFailure, Loading, Notice } from "../../parts/notice";
import { paneWidth, Splitter, useOpen, useSplit } from "../../parts/split";
import { iconOfKind } from "../../parts/words";
import { go, link, note, openRoutes, type Route } from "../../route";
import type { Ask } from "./ask";
import { useCommands } from "./commands";
import { copiedNodes, copyNode, pasteOperations } from "./copy";
import { faultOf } from "./fault";
import { useFolds } from "./folds";
import { DefinitionForm, EdgeForm, NodeForm, titleNow } from "./form";
import { DefinitionHead } from "./head";
import { ChangedBanner, KeptBanner, LeaveDialog, TryDialog } from "./unsaved";
import { asksCondition, asksOutcome, edgeAfter, nodeAt, placementsOf, placesFor } from "./places";
import { useMoves } from "./moves";
import { takenIds } from "./names";
import { marksOf, Problems } from "./problems";
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
    // In another file it is another document. Its activities may come and go.
    return <Workbench key={`${definition.data.id}\n${definition.data.files[0]?.name}`} route={route} definition={definition.data} onlyShows={onlyShows} onSaved={reload} />;
  }
  return definition.error ? <Failure alone error={definition.error} retry={definition.reload} /> : <Loading what="the definition" />;
}

function Workbench({ route, definition, onlyShows, onSaved }: { route: DefinitionRoute; definition: Definition; onlyShows: string | null; onSaved: () => void }) {
  const { folds, toggle } = useFolds();
  const { root } = route;
  const shape = useMemo(() => ({ root, ...folds }), [root, folds]);
  const { writable } = definition;
  const session = useSession(definition, shape, writable);
  const { document, state, checked, kept, theirs, run: carryOut } = session;
  const { problems } = checked.checked;
  const shown = checked.sound;
  const { drawing, about } = shown;
  const sound = checked.checked.sound && checked.checked.drawing !== null;
  const editable = writable && definition.editable && sound;

  const [tab, setTab] = useState("source");
  // Where the window is low, the graph has the height until the source is asked for.
  const [bottomOpen, setBottomOpen] = useOpen("source", innerHeight >= 840);
  const [jump, setJump] = useState<Jump | null>(null);
  const [edgeId, setEdge] = useState<string | null>(null);
  const [ask, showAsk] = useState<Ask | null>(null);
  /** At once: the next key is for the dialog already. */
  const setAsk = useCallback((asking: Ask | null) => flushSync(() => showAsk(asking)), []);
  const [dialog, setDialog] = useState<"save" | "conflict" | null>(null);
  /** What was done last, told until something else is. */
  const [said, setSaid] = useState<{ words: string; revision: unknown } | null>(null);
  const [refusal, setRefusal] = useState<ApiError | null>(null);
  const bottom = useSplit("definition-bottom", Math.min(240, Math.round(innerHeight * 0.27)), 96, 640);
  const left = useSplit("definition-left", paneWidth(232), 160, 420);
  const right = useSplit("definition-right", paneWidth(304), 220, 560);
  const facts = useRef<HTMLElement>(null);
  /** Where it goes on once it is saved. */
  const next = useRef<string | null>(null);
  const isTry = (address: string) => address.split("?")[0] === link.try(definition.id);
  const { leaving, stay } = useLeaving(definition.id, state.unsaved);

  const selected = route.node !== null && drawing?.nodes.some((node) => node.id === route.node) ? route.node : null;
  const edge = edgeId === null ? null : (drawing?.edges.find((entry) => entry.id === edgeId) ?? null);
  // What is beside another step begins at its heading.
  useEffect(() => {
    facts.current?.scrollTo(0, 0);
  }, [selected, edge?.id]);
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
  /** What was just added is filled in next. */
  const fillIn = () => setTimeout(() => facts.current?.querySelector<HTMLElement>("[data-form] :is(input, select, textarea)")?.focus());
  // Dialogs are there when a key asks for them.
  useEffect(() => void later(), []);
  useEffect(() => {
    const place = route.node === null ? null : (about[route.node]?.place ?? null);
    if (place) setJump({ ...place });
  }, []);

  // Another step, by whatever address, is looked at instead of the edge.
  useEffect(() => setEdge(null), [route.node]);

  const moves = useMoves(definition, root, document, session.wire, setRefusal);
  const operate = useCallback(
    (operations: Operations) => {
      setRefusal(null);
      return carryOut(operations, latest.current.selected, (result: Edited) => {
        moves.follow(operations, (id) => latest.current.shown.drawing?.nodes.find((node) => node.id === id)?.moved, result);
        const [operation] = operations;
        const was = latest.current.edge;
        setEdge(was !== null && operations.length === 1 && typeof operation === "object" ? edgeAfter(operation, was, result.drawing) : null);
        // A box stands for the node at its beginning: whoever looks at one of them still does.
        const at = latest.current.selected;
        const stays = result.select !== null && at !== null && result.about[at]?.id === result.about[result.select]?.id;
        if (result.select !== null && !stays) address(result.select);
        const place = result.select === null ? null : (result.about[result.select]?.place ?? null);
        if (place) setJump({ ...place });
      });
    },
    [carryOut, address, moves.follow],
  );
  const run = useCallback((operation: Operation) => operate([operation]), [operate]);
  /** For what is done without a dialog: a refusal stands above the graph. */
  const runHere = useCallback((operation: Operation) => void run(operation).then(setRefusal), [run]);

  const tell = (words: string) => {
    setSaid({ words, revision: document.state.get() });
    // What had the focus may be gone by now, or of no more use.
    setTimeout(() => {
      const { activeElement } = window.document;
      if (activeElement === null || activeElement === window.document.body || activeElement.matches(":disabled")) focusGraph();
    });
  };
  /** A step of the history is shown, with what it was about: it may be one that nobody sees any more. */
  const time = (step: ReturnType<typeof document.undo>, done: "Undone" | "Done again") => {
    if (!step) return;
    if (step.moved) moves.place(step.moved);
    // A file that is there no more cannot be shown.
    const changed = step.splices.find(({ turn }) => turn !== "goes");
    const gone = changed ? undefined : step.splices[0];
    const line = changed && (document.state.get().texts[changed.file] ?? "").slice(0, changed.from).split("\n").length;
    const name = changed && document.names.length > 1 ? ` of ${document.names[changed.file]?.name ?? ""}` : "";
    const what = step.moved ? "what was moved by hand" : gone ? `${document.names[gone.file]?.name} is gone` : `line ${line ?? 1}${name}`;
    const unsaved = document.state.get().unsaved;
    if (!step.moved) setTab("source");
    tell(`${done}: ${what}.${done === "Undone" ? " Shift+Ctrl+Z does it again." : ""}${unsaved ? " It is not saved like this." : ""}`);
    setEdge(null);
    if (step.select !== latest.current.selected) address(step.select);
    if (changed) setJump({ file: changed.file, from: changed.from, to: changed.from + changed.inserted.length });
  };

  const connect = useCallback(
    (from: string, to: string) => {
      if (asksOutcome(definition, latest.current.about[from])) setAsk({ is: "outcome", from, to });
      else if (asksCondition(definition, latest.current.shown, from)) setAsk({ is: "condition", from, to });
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
  const save = () =>
    void session.wire.settled().then(() => {
      if (document.state.get().unsaved) setDialog(theirs ? "conflict" : "save");
      else facts.current?.querySelector<HTMLElement>("[data-form] [aria-invalid=true]")?.focus();
    });
  const duplicate = () => selected !== null && canChange && runHere({ is: "duplicate", node: selected });
  // In the formats where steps stand one behind the other in parts, they can be moved; elsewhere edges say what follows.
  const wrapping = definition.palette.find((entry) => entry.wraps);
  const wrap = canChange && wrapping && selected !== null ? () => (askedOf(wrapping).length > 0 ? setAsk({ is: "wrap", node: selected, kind: wrapping }) : runHere({ is: "wrap", node: selected, kind: wrapping.kind })) : null;
  const inRow = canChange && definition.palette.find((entry) => entry.kind === about[selected]?.word)?.unplaced === "nowhere";
  const move = inRow && selected !== null ? () => setAsk({ is: "move", node: selected }) : null;
  const removeEdge = () => edge && runHere({ is: "disconnect", edge: edge.id });
  const nextEdge = () => {
    if (!drawing || selected === null) return;
    const out = indexDrawing(drawing).outgoing.get(selected) ?? [];
    const next = out[(out.findIndex((entry) => entry.id === edge?.id) + 1) % Math.max(1, out.length)];
    if (next) selectEdge(next.id);
  };

  // What has none of the formats does not run.
  const tryIt = definition.dialect === "unknown" ? null : link.try(definition.id, { root });
  useKeys((event) => {
    if (event.key === "t" && tryIt) go(tryIt);
    if (!editable) return;
    if (event.key === "a") setAsk({ is: "add", kind: null });
    else if (event.key === "c" && edge) setAsk({ is: "connect", from: edge.from, edge: edge.id });
    else if (event.key === "c" && selected !== null) setAsk({ is: "connect", from: selected, edge: null });
    else if (event.key === "e") nextEdge();
    else if (event.key === "F2" && canChange) setAsk({ is: "rename", node: selected });
    else if (event.key === "w" && wrap) wrap();
    else if (event.key === "m" && move) move();
    else if (event.key === "k" && canChange) setAsk({ is: "kind", node: selected });
    else if ((event.key === "Delete" || event.key === "Backspace") && edge) removeEdge();
    else if ((event.key === "Delete" || event.key === "Backspace") && canChange) setAsk({ is: "delete", node: selected });
    else return;
    event.preventDefault();
  });

  useCommands({
    save: writable ? save : null,
    undo: writable ? () => time(document.undo(), "Undone") : null,
    redo: () => time(document.redo(), "Done again"),
    duplicate: editable ? () => void duplicate() : null,
    copy: () => (selected === null || !about[selected] ? null : copyNode(about[selected], inRow)),
    paste: (text) => {
      const nodes = editable ? copiedNodes(text) : null;
      if (!nodes || !drawing) return false;
      const taken = takenIds(drawing.nodes);
      const kind = definition.palette.find((entry) => entry.kind === nodes[0]?.kind);
      void operate(pasteOperations(nodes, taken, placesFor(kind, placements)[0]?.place ?? {})).then(setRefusal);
      return true;
    },
  });

  const marks = useMemo(() => marksOf(problems), [problems]);
  const faultAt = (problem: Problem) => faultOf(problem, definition, about, state.texts);
  /** To its line, and to its field. */
  const onProblem = (problem: Problem) => {
    const path = faultAt(problem).field?.path ?? null;
    if (problem.node !== null) select(problem.node);
    else if (path !== null) select(null);
    setTab("source");
    setBottomOpen(true);
    if (problem.place) setJump({ ...problem.place });
    focusField(path);
  };
  const focusField = (path: string | null) => setTimeout(() => ((path === null ? null : facts.current?.querySelector<HTMLElement>(`[data-path="${CSS.escape(path)}"]`)) ?? facts.current)?.focus());
  const onOwn = (path: string) => {
    select(null);
    focusField(path);
  };
  const onCursor = (file: number, offset: number) => {
    const node = nodeAt(about, file, offset, selected);
    if (node !== null && node !== selected) {
      address(node);
      setEdge(null);
    }
  };

  const errors = problems.filter((problem) => problem.severity === "error").length;
  const syntax = sound ? null : (problems.find((problem) => problem.severity === "error") ?? null);
  const evaluation = useMemo(() => ({ id: definition.id, root, workflows: definition.roots.flatMap(({ id, name }) => [id, name]), files: () => document.files() }), [definition.id, definition.roots, root, document]);
  const forms = { definition, shown, problems, editable, run, evaluation, onPlace: (place: Jump) => setJump({ ...place }), onEdge: selectEdge, onOwn };
  const limits = limitsOf(definition, onlyShows);

  return (
    <div className="workbench">
      <DefinitionHead
        definition={definition}
        title={titleNow(definition, shown)}
        root={root}
        limits={limits}
        problems={problems.length}
        errors={errors}
        state={state}
        tryIt={tryIt}
        said={said !== null && said.revision === state ? said.words : ""}
        onUndo={writable ? () => time(document.undo(), "Undone") : null}
        onRedo={() => time(document.redo(), "Done again")}
        onAdd={editable ? () => setAsk({ is: "add", kind: null }) : null}
        onSave={save}
        onProblems={() => (setTab("problems"), setBottomOpen(true))}
      />
      {kept && <KeptBanner
          onTake={() => {
            session.takeKept();
            tell("Your changes are here again. They are not saved yet.");
          }}
          onDrop={() => {
            session.dropKept();
            tell("Thrown away: this is what is saved.");
          }}
        />}
      {theirs && state.unsaved && <ChangedBanner onCompare={() => setDialog("conflict")} />}
      {checked.error && <InlineFailure error={checked.error} />}
      <div className="work-columns" style={{ "--left": `${left.size}px`, "--right": `${right.size}px` } as React.CSSProperties}>
        <aside className="pane left" aria-label="Outline">
          {drawing && <Outline drawing={drawing} selected={selected} marked={edge === null} marks={marks} onSelect={select} onOpen={openDetails} onFold={toggle} />}
          {editable && (
            <details className="palette">
              <summary>Add a step</summary>
              <p className="dim">{placesFor(definition.palette[0], placements)[0]?.label}</p>
              <ul>
                {definition.palette
                  .filter((kind) => kind.addable)
                  .map((kind) => (
                    <li key={kind.kind}>
                      <button type="button" title={kind.help} onClick={() => setAsk({ is: "add", kind: kind.kind })}>
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
              onMove={writable && sound ? moves.move : null}
              onLayOutAgain={moves.layOutAgain}
            />
          ) : (
            <Notice icon="warning" title="No graph can be drawn">
              <p>
                {syntax?.message ?? "The source has errors that leave nothing to draw."}{" "}
                {syntax?.place && (
                  <button type="button" className="link" onClick={() => onProblem(syntax)}>
                    line {syntax.place.line}
                  </button>
                )}
              </p>
              {syntax?.help && <p className="dim">{syntax.help}</p>}
            </Notice>
          )}
          {refusal && (
            <div className="over-graph" role="alert">
              <Icon name="error" />
              <span>
                <Coded text={refusal.message} />{" "}
                {refusal.help && (
                  <span className="dim help">
                    <Coded text={refusal.help} />
                  </span>
                )}
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
                The text cannot be read now; this is the last graph. <Coded text={syntax?.message ?? ""} />{" "}
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
              onAdd={() => setAsk({ is: "add", kind: null })}
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
                wrap,
                move,
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
            <Icon name={bottomOpen ? "down" : "up"} />
          </button>
        </Tabs>
        {bottomOpen && (
          <>
            <div className="tab-body" role="tabpanel" aria-label="Source" hidden={tab !== "source"}>
              <Source document={document} writable={writable} problems={problems} jump={jump} selected={selected} onCursor={onCursor} />
            </div>
            {tab === "problems" && (
              <div className="tab-body" role="tabpanel" aria-label="Problems">
                <Problems problems={problems} undecided={checked.checked.undecided} files={document.names} selected={selected} faultOf={faultAt} onChoose={onProblem} />
              </div>
            )}
          </>
        )}
      </section>
      <Suspense fallback={<i hidden data-coming />}>
      {ask && <AskDialog key={ask.is} ask={ask} definition={definition} shown={shown} placements={placements} operate={operate} onAsk={setAsk} onAdded={fillIn} />}
      {dialog === "save" && (
        <SaveDialog
          document={document}
          problems={problems}
          before={definition.problems}
          onClose={() => {
            next.current = null;
            setDialog(null);
          }}
          onSave={async () => {
            const { texts, base } = document.state.get();
            const written = document.names.filter((_, i) => (texts[i] ?? null) !== (base[i] ?? null));
            const error = await session.save();
            if (error?.code === "changed") setDialog("conflict");
            else if (error) return error;
            else {
              setDialog(null);
              onSaved();
              if (next.current !== null) {
                const address = next.current;
                openRoutes();
                setTimeout(() => go(address));
              }
              next.current = null;
              tell(`Saved: ${written.map((file) => file.name).join(", ")}. It applies to runs that begin from now on.`);
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
          onMerged={(files) => {
            session.merged(files, theirs, selected);
            setDialog(document.state.get().unsaved ? "save" : null);
          }}
        />
      )}
      </Suspense>
      {leaving !== null && isTry(leaving) && (
        <TryDialog
          name={titleNow(definition, shown)}
          onStay={stay}
          onSave={() => {
            stay();
            next.current = leaving;
            save();
          }}
          onTry={() => {
            session.leave();
            stay();
            setTimeout(() => go(leaving));
          }}
        />
      )}
      {leaving !== null && !isTry(leaving) && (
        <LeaveDialog
          name={definition.name}
          onStay={stay}
          onDiscard={() => {
            session.discard();
            stay();
            setTimeout(() => go(leaving));
          }}
          onLeave={() => {
            session.leave();
            stay();
            setTimeout(() => go(leaving));
          }}
        />
      )}
    </div>
  );
}

/** Why the definition, or its graph, cannot be changed here, if so. */
function limitsOf({ id, source, writable, editable }: Definition, onlyShows: string | null): string | null {
  if (source === "catalog") return `This definition belongs to the catalogue: it can be read here, not changed. \`portolan catalog copy ${id}\` copies it into the project.`;
  if (!writable) return onlyShows;
  return editable ? null : "This dialect is edited as text: the graph follows.";
}

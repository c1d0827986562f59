import { Fragment, Suspense } from "react";
import type { ApiError } from "../../api/client";
import type { About, Checked, Definition, DrawnEdge, Field, Kind, Operation, Place, Problem, Values } from "../../api/types";
import { ExpressionSource } from "../../code/later";
import { indexDrawing, targetOf } from "../../graph/model";
import { Path } from "../../parts/bits";
import { Icon } from "../../parts/icons";
import { plural } from "../../parts/words";
import type { Evaluation } from "../expression/over";
import { AboutHead, FactList, Verified } from "./facts";
import { FieldInput } from "./field";
import { stepsIn } from "./places";
import { ProblemList } from "./problems";
import { RowsInput } from "./rows-input";

export type Run = (operation: Operation) => Promise<ApiError | null>;

interface Shared {
  definition: Definition;
  shown: Checked;
  problems: Problem[];
  /** Whether operations can be done now at all. */
  editable: boolean;
  run: Run;
  evaluation: Evaluation;
  onPlace: (place: Place) => void;
  onEdge: (edge: string) => void;
  /** Leads to a field of the definition itself. */
  onOwn: (path: string) => void;
}

export interface NodeActions {
  rename: () => void;
  duplicate: () => void;
  kind: () => void;
  remove: () => void;
  connect: () => void;
  wrap: (() => void) | null;
  move: (() => void) | null;
}

export function NodeForm({ id, about, actions, ...shared }: Shared & { id: string; about: About; actions: NodeActions }) {
  const { definition, shown, problems, editable, run, evaluation, onPlace, onEdge, onOwn } = shared;
  const kind = definition.palette.find((entry) => entry.kind === about.word);
  const can = editable && about.editable;
  const own = problems.filter((problem) => problem.node === id);
  return (
    <div className="facts">
      <AboutHead about={about} />
      <PlaceLink definition={definition} place={about.place} onPlace={onPlace} />
      <ProblemList problems={own} />
      <Verified about={about} />
      {can && (
        <div className="node-actions" role="group" aria-label="Change this step">
          <ActionButton label="Rename…" keys="F2" onClick={actions.rename} />
          <ActionButton label="Connect…" keys="c" onClick={actions.connect} />
          <ActionButton label="Kind…" keys="k" onClick={actions.kind} />
          {actions.wrap && <ActionButton label={`Wrap in “${definition.palette.find((entry) => entry.wraps)?.label ?? ""}”`} keys="w" onClick={actions.wrap} />}
          {actions.move && <ActionButton label="Move…" keys="m" onClick={actions.move} />}
          <ActionButton label="Duplicate" keys="Ctrl+D" onClick={actions.duplicate} />
          <ActionButton label="Delete…" keys="Delete" onClick={actions.remove} />
        </div>
      )}
      {can && kind && <Fields key={id} fields={kind.fields.map((field) => byEdges(field, id, shown))} values={about.values} evaluation={{ of: evaluation, node: id }} onCommit={(field, value) => run({ is: "set", node: id, field, value })} />}
      {editable && !about.editable && <p className="hint">This step follows from others: only the text has it.</p>}
      <EdgeList id={id} shown={shown} onEdge={editable ? onEdge : null} />
      {shown.drawing?.edges.some((edge) => edge.from === id && edge.back) && <Cap definition={definition} shown={shown} onOwn={onOwn} />}
      {about.facts.length > 0 &&
        (can ? (
          <details className="definition-facts">
            <summary>How Portolan reads it</summary>
            <FactList about={about} />
          </details>
        ) : (
          <FactList about={about} />
        ))}
    </div>
  );
}

/** Beside an edge on `failed`, a failure is not tried again unless it is said how often. */
function byEdges(field: Field, id: string, shown: Checked): Field {
  const fails = shown.drawing?.edges.some((edge) => edge.from === id && edge.on === "failed" && !edge.implied);
  return field.path === "maxRetries" && fails ? { ...field, default: 0 } : field;
}

/** What a definition is called, as it is written now. */
export function titleNow(definition: Definition, { own }: Checked): string {
  const field = definition.fields.find(({ path }) => path === "name" || path === "title");
  const written = field ? own.values[field.path] : undefined;
  return typeof written === "string" && written.trim() ? written : definition.name;
}

export function DefinitionForm({ definition, shown, problems, editable, run, evaluation }: Shared) {
  const own = problems.filter((problem) => problem.node === null && problem.place === null);
  return (
    <div className="facts">
      <header className="facts-head">
        <div>
          <h2>{titleNow(definition, shown)}</h2>
          <p className="dim">
            {definition.dialect} · {plural(stepsIn(shown), "step")}
          </p>
        </div>
      </header>
      <ProblemList problems={own} />
      {editable ? <Fields fields={definition.fields} values={shown.own.values} evaluation={{ of: evaluation, node: null }} onCommit={(field, value) => run({ is: "set", node: null, field, value })} /> : definition.description && <p>{definition.description}</p>}
      <dl className="fact-list">
        <div>
          <dt>Files</dt>
          <dd>
            {definition.files.map((file) => (
              <div key={file.name}>
                <code><Path text={file.name} /></code>
              </div>
            ))}
          </dd>
        </div>
        <div>
          <dt>From</dt>
          <dd>{definition.source}</dd>
        </div>
      </dl>
      <p className="hint">Select a step to see what is written about it.</p>
    </div>
  );
}

const LABEL: Field = { path: "label", label: "Label", help: "What stands at the edge in the graph, and in questions to a person; the outcome where it is left out.", type: "text", required: false };

interface EdgeProps extends Shared {
  edge: DrawnEdge;
  kind: Kind | undefined;
  onSelect: (id: string) => void;
  onRemove: () => void;
  onReconnect: () => void;
  /** Adds a step into the edge. */
  onAdd: () => void;
}

export function EdgeForm({ edge, kind, onSelect, onRemove, onReconnect, onAdd, definition, shown, editable, run, evaluation, onPlace, onOwn }: EdgeProps) {
  const from = shown.about[edge.from];
  const to = shown.about[edge.to];
  const place = shown.edges[edge.id] ?? null;
  const condition = editable ? place?.condition : undefined;
  const field: Field = { path: "on", label: "Outcome", help: "With which result the run takes this edge.", type: "choice", choices: from?.outcomes ?? [], required: false };
  return (
    <div className="facts">
      <header className="facts-head">
        <span className="kind-tile">
          <Icon name="right" />
        </span>
        <div>
          <h2>Edge</h2>
          <p className="dim">
            from{" "}
            <button type="button" className="link" onClick={() => onSelect(edge.from)}>
              {from?.name ?? edge.from}
            </button>{" "}
            to{" "}
            <button type="button" className="link" onClick={() => onSelect(edge.to)}>
              {to?.name ?? edge.to}
            </button>
          </p>
        </div>
      </header>
      <PlaceLink definition={definition} place={place} onPlace={onPlace} />
      {!place && <p className="hint">This edge follows from the steps: it is not written anywhere, so there is nothing to change.</p>}
      {edge.kind === "failed" && (from?.checks?.length ?? 0) > 0 && <p className="hint">Taken when a failure is reported. A check that fails keeps the work at the step.</p>}
      {edge.back && <Cap definition={definition} shown={shown} onOwn={onOwn} />}
      {place && editable && kind?.outcomes && condition === undefined && (
        <FieldInput key={edge.id} field={field} value={edge.on} onCommit={(value) => run({ is: "outcome", edge: edge.id, on: value as string | null })} />
      )}
      {place && editable && kind?.labels && (
        <FieldInput key={`${edge.id} label`} field={LABEL} value={edge.text === edge.on ? null : edge.text} onCommit={(value) => run({ is: "label", edge: edge.id, text: value as string | null })} />
      )}
      {condition !== undefined && definition.condition && (
        <Fields fields={[definition.condition]} values={{ [definition.condition.path]: condition }} evaluation={{ of: evaluation, node: edge.from }} onCommit={(_, value) => run({ is: "outcome", edge: edge.id, on: value as string | null })} />
      )}
      {edge.text && edge.text !== edge.on && !kind?.labels && condition === undefined && (
        <p>
          Taken when <code>{edge.text}</code>. {place && editable && "The condition is written in the source, at the line above."}
        </p>
      )}
      {place && editable && (
        <div className="node-actions" role="group" aria-label="Change this edge">
          <ActionButton label="Add a step here…" keys="a" onClick={onAdd} />
          <ActionButton label="Lead elsewhere…" keys="c" onClick={onReconnect} />
          <ActionButton label="Delete" keys="Delete" onClick={onRemove} />
        </div>
      )}
    </div>
  );
}

interface FieldsProps {
  fields: Field[];
  values: Values;
  evaluation: { of: Evaluation; node: string | null };
  onCommit: (field: string, value: unknown) => Promise<ApiError | null>;
}

function Fields({ fields, values, evaluation, onCommit }: FieldsProps) {
  const first = fields.find((field) => field.type === "expression");
  return (
    <div className="edit-fields" data-form>
      {fields.map((field) => (
        <Fragment key={field.path}>
          {field === first && (
            <Suspense fallback={null}>
              <ExpressionSource evaluation={evaluation.of} />
            </Suspense>
          )}
          {field.columns ? (
            <RowsInput field={field} value={values[field.path]} onCommit={(value) => onCommit(field.path, value)} />
          ) : (
            <FieldInput field={field} value={values[field.path]} evaluation={evaluation} onCommit={(value) => onCommit(field.path, value)} />
          )}
        </Fragment>
      ))}
    </div>
  );
}

/** How often all edges that lead back may be taken together, where the definition itself says so. */
function Cap({ definition, shown, onOwn }: Pick<Shared, "definition" | "shown" | "onOwn">) {
  const field = definition.fields.find(({ path }) => path === "iterationCap");
  if (!field) return null;
  const most = shown.own.values[field.path] ?? field.default;
  return (
    <p className="hint">
      A task can go back {typeof most === "number" ? plural(most, "time") : "a few times"} in all:{" "}
      <button type="button" className="link" onClick={() => onOwn(field.path)}>
        {field.label}
      </button>{" "}
      of the definition.
    </p>
  );
}

function EdgeList({ id, shown, onEdge }: { id: string; shown: Checked; onEdge: ((edge: string) => void) | null }) {
  const graph = shown.drawing && indexDrawing(shown.drawing);
  const edges = graph?.outgoing.get(id) ?? [];
  if (!graph || edges.length === 0 || !onEdge) return null;
  return (
    <section className="edge-list">
      <h3>Leads to</h3>
      <ul>
        {edges.map((edge) => (
          <li key={edge.id}>
            <button type="button" onClick={() => onEdge(edge.id)}>
              {edge.on && <span className="tag">{edge.on}</span>}
              <span>{targetOf(graph, edge)}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

const ActionButton = ({ label, keys, onClick }: { label: string; keys: string; onClick: () => void }) => (
  <button type="button" className="button small" title={`${label.replace("…", "")} (${keys})`} onClick={onClick}>
    {label}
  </button>
);

function PlaceLink({ definition, place, onPlace }: { definition: Definition; place: Place | null; onPlace: (place: Place) => void }) {
  const file = place && definition.files[place.file];
  if (!place || !file) return null;
  return (
    <button type="button" className="link" onClick={() => onPlace(place)}>
      <Path text={`${file.name}:${place.line}`} />
    </button>
  );
}

import { useId, useState } from "react";
import type { ApiError } from "../../api/client";
import type { Checked, Definition, DrawnEdge, Kind, Operation } from "../../api/types";
import { indexDrawing, type Graph } from "../../graph/model";
import { Coded } from "../../parts/bits";
import { Chooser } from "../../parts/chooser";
import { FormDialog } from "../../parts/dialog";
import { takenIds } from "./names";
import { AddDialog, RenameDialog, WrapDialog } from "./naming";
import { asksCondition, asksOutcome, isTarget, type Placement } from "./places";
import { iconOfKind, kindIcon, plural } from "../../parts/words";
import type { Operations } from "./session";

/** What a person is asked before an operation can be done. */
export type Ask =
  | { is: "add"; kind: string | null }
  | { is: "connect"; from: string; edge: string | null }
  | { is: "outcome"; from: string; to: string }
  | { is: "condition"; from: string; to: string }
  | { is: "rename"; node: string }
  | { is: "kind"; node: string }
  | { is: "wrap"; node: string; kind: Kind }
  | { is: "move"; node: string }
  | { is: "delete"; node: string };

const MOST_NAMES = 6;

/** What stands for a condition among the outcomes; none of them is called so. */
const CONDITION = "\u0000";

interface Props {
  ask: Ask;
  definition: Definition;
  shown: Checked;
  placements: Placement[];
  operate: (operations: Operations) => Promise<ApiError | null>;
  onAsk: (ask: Ask | null) => void;
  /** A step was added. */
  onAdded: () => void;
}

export function AskDialog({ ask, definition, shown, placements, operate, onAsk, onAdded }: Props) {
  const close = () => onAsk(null);
  const sendAll = async (operations: Operations) => {
    const refused = await operate(operations);
    if (!refused) close();
    return refused;
  };
  const send = (operation: Operation) => sendAll([operation]);
  const connect = (from: string, to: string, on: string) => send({ is: "connect", from, to, ...(on ? { on } : {}) });
  const graph = shown.drawing ? indexDrawing(shown.drawing) : null;
  const nameOf = (id: string) => shown.about[id]?.name ?? id;
  if (!graph) return null;

  switch (ask.is) {
    case "add": {
      const taken = takenIds(graph.ordered);
      return (
        <AddDialog
          definition={definition}
          kind={ask.kind}
          placements={placements}
          taken={taken}
          onSend={async (operations) => {
            const refused = await sendAll(operations);
            if (!refused) onAdded();
            return refused;
          }}
          onClose={close}
        />
      );
    }
    case "connect":
      return (
        <Chooser
          label="Step that it leads to"
          title={ask.edge === null ? `Connect “${nameOf(ask.from)}” to` : `Lead the edge from “${nameOf(ask.from)}” to`}
          choices={graph.ordered.filter((node) => isTarget(definition, shown, node)).map((node) => ({ id: node.id, label: node.name, detail: node.node ?? undefined, icon: kindIcon(node) }))}
          onChoose={(to) => {
            if (ask.edge !== null) return send({ is: "reconnect", edge: ask.edge, to });
            const more = asksOutcome(definition, shown.about[ask.from]) ? "outcome" : asksCondition(definition, shown, ask.from) ? "condition" : null;
            if (more === null) return send({ is: "connect", from: ask.from, to });
            onAsk({ is: more, from: ask.from, to });
            return Promise.resolve(null);
          }}
          onClose={close}
        />
      );
    case "outcome": {
      const used = new Set(graph.outgoing.get(ask.from)?.map((edge) => edge.on));
      const outcomes = [...(shown.about[ask.from]?.outcomes ?? [])].sort((a, b) => Number(used.has(a)) - Number(used.has(b)));
      return (
        <Chooser
          key="outcome"
          label="Outcome"
          title={`“${nameOf(ask.from)}” leads to “${nameOf(ask.to)}” on`}
          choices={[...outcomes.map((on) => ({ id: on, label: on, detail: used.has(on) ? "has an edge already" : undefined })), { id: "", label: "every outcome", detail: "the edge names none" }, ...(asksCondition(definition, shown, ask.from) ? [{ id: CONDITION, label: "a condition…", detail: "over the values so far" }] : [])]}
          onChoose={(on) => {
            if (on !== CONDITION) return connect(ask.from, ask.to, on);
            onAsk({ is: "condition", from: ask.from, to: ask.to });
            return Promise.resolve(null);
          }}
          onClose={close}
        />
      );
    }
    case "condition":
      return <ConditionDialog title={`“${nameOf(ask.from)}” leads to “${nameOf(ask.to)}”`} help={definition.condition?.help ?? ""} onSend={(on) => connect(ask.from, ask.to, on)} onClose={close} />;
    case "kind":
      return (
        <Chooser
          label="Kind"
          title={`“${nameOf(ask.node)}” becomes`}
          choices={definition.palette.filter((kind) => kind.addable && !kind.apart && kind.kind !== shown.about[ask.node]?.word).map((kind) => ({ id: kind.kind, label: kind.label, detail: kind.help, icon: iconOfKind(kind.kind) }))}
          onChoose={(kind) => send({ is: "kind", node: ask.node, kind })}
          onClose={close}
        />
      );
    case "wrap":
      return (
        <WrapDialog
          name={nameOf(ask.node)}
          kind={ask.kind}
          onSend={(values) => send({ is: "wrap", node: ask.node, kind: ask.kind.kind, values })}
          onClose={close}
        />
      );
    case "move":
      return (
        <Chooser
          label="Step that it follows"
          title={`Move “${nameOf(ask.node)}” behind`}
          choices={graph.ordered.filter((node) => node.id !== ask.node && shown.about[node.id]?.editable).map((node) => ({ id: node.id, label: node.name, detail: node.node ?? undefined, icon: kindIcon(node) }))}
          onChoose={(after) => send({ is: "move", node: ask.node, after })}
          onClose={close}
        />
      );
    case "rename":
      return <RenameDialog node={ask.node} about={shown.about[ask.node]} kind={definition.palette.find((kind) => kind.kind === shown.about[ask.node]?.word)} onSend={sendAll} onClose={close} />;
    case "delete": {
      const inside = contentsOf(graph, shown, ask.node);
      const edges = [...(graph.incoming.get(ask.node) ?? []), ...(graph.outgoing.get(ask.node) ?? [])].filter((edge, i, all) => all.indexOf(edge) === i);
      return <DeleteDialog name={nameOf(ask.node)} inside={inside.map(nameOf)} edges={edges} nameOf={nameOf} onSend={() => send({ is: "delete", nodes: [ask.node] })} onClose={close} />;
    }
  }
}

/** On what a new edge is taken. */
function ConditionDialog({ title, help, onSend, onClose }: { title: string; help: string; onSend: (on: string) => Promise<ApiError | null>; onClose: () => void }) {
  const [condition, setCondition] = useState("");
  const described = useId();
  return (
    <FormDialog title={title} action="Connect" onSend={() => onSend(condition.trim())} onClose={onClose}>
      <label className="field block">
        <span>When? Leave it empty for always.</span>
        <input type="text" className="mono" autoComplete="off" spellCheck={false} aria-describedby={described} value={condition} onChange={(event) => setCondition(event.target.value)} />
      </label>
      <p id={described} className="dim">
        <Coded text={help} />
      </p>
    </FormDialog>
  );
}

/** The written steps that go with a box, or with the node at its beginning. */
function contentsOf(graph: Graph, shown: Checked, node: string): string[] {
  const parent = graph.nodes.get(node)?.parent ?? null;
  const box = parent !== null && shown.about[parent]?.id === shown.about[node]?.id ? parent : node;
  const inside = (at: string): string[] => (graph.children.get(at) ?? []).flatMap((child) => [child.id, ...inside(child.id)]);
  const ids = inside(box).filter((id) => shown.about[id]?.editable && shown.about[id].id !== shown.about[box]?.id);
  return ids.filter((id, nth) => ids.findIndex((other) => shown.about[other]?.id === shown.about[id]?.id) === nth);
}

function DeleteDialog({ name, inside, edges, nameOf, onSend, onClose }: { name: string; inside: string[]; edges: DrawnEdge[]; nameOf: (id: string) => string; onSend: () => Promise<ApiError | null>; onClose: () => void }) {
  return (
    <FormDialog bare title={inside.length > 0 ? `Delete “${name}” with ${plural(inside.length, "step")}?` : `Delete “${name}”?`} action="Delete" onSend={onSend} onClose={onClose}>
      {inside.length > 0 && (
        <p>
          What is in it goes with it: {inside.slice(0, MOST_NAMES).map((step) => `“${step}”`).join(", ")}
          {inside.length > MOST_NAMES && ` and ${inside.length - MOST_NAMES} more`}. Undo brings it back.
        </p>
      )}
      {edges.length > 0 && (
        <>
          <p>These edges go with it:</p>
          <ul className="edge-names">
            {edges.map((edge) => (
              <li key={edge.id}>
                {nameOf(edge.from)} → {nameOf(edge.to)} {edge.on && <span className="tag">{edge.on}</span>}
              </li>
            ))}
          </ul>
        </>
      )}
    </FormDialog>
  );
}
